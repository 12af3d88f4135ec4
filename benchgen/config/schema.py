"""Every knob as a plain dataclass; how `conf/` and the command line fill them is `compose`'s work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class EvaluationConfig:
    """How questions are put; frozen into the benchmark (see types.Evaluation)."""

    method: str = "generate"
    """generate | likelihood (mcq: of the options)"""
    normalisation: str = ""
    """likelihood: sum | token | character | byte; empty = sum for letters, else character."""
    options: str = "names"
    """mcq: letters | names | hidden (likelihood only)"""
    system: str = ""
    instruction: str = ""
    instruct_in: str = "user"
    max_new_tokens: int = 64
    temperature: float = 0.0
    stop: list[str] = field(default_factory=list)


@dataclass
class AuthorConfig:
    """Who writes the questions, and from what. Each author reads its own part of it."""

    name: str = ""
    """table | procedural | file | document | llm"""
    path: str | None = None
    """table, file, document: a file of one's own."""
    pack: str = ""
    """table: a shipped pack of facts, where no path is given."""
    templates: list[str] = field(default_factory=list)
    """table: names of the pack's templates to use; empty = all that can ask in this kind."""
    entity: str | None = None
    """table with a path: the column that names what is asked about."""
    columns: dict[str, str] = field(default_factory=dict)
    """file: {role: column}, for headers that are not understood."""
    index_base: int | None = None
    """file: answers that are positions count from 0 or from 1."""
    answers_are: str | None = None
    """file: letter | index | text"""
    decimal: str | None = None
    """file: point | comma"""
    multi: bool | None = None
    """file: several options may be right."""
    sheet: str | None = None
    """file: the sheet of an Excel file."""
    tasks: dict[str, float] = field(default_factory=dict)
    """procedural: {task: share}; empty = an even mix of its default tasks."""
    topic: str = ""
    """llm, document: what the questions are about, in a sentence."""
    tools: str | None = None
    """llm, kind tool: a JSON file with the functions' definitions."""
    model: str = ""
    """llm, document: the model that writes, by its name in the catalogue."""
    checker: str = ""
    """llm, document: a model that solves them blind; empty = the writer itself, none = nobody."""
    per_turn: int = 150
    """llm, document: questions written before it stops and waits to be resumed."""


@dataclass
class BenchmarkConfig:
    """What a benchmark is made from."""

    name: str = ""
    author: AuthorConfig = field(default_factory=AuthorConfig)
    kind: str = "mcq"
    count: int = 30
    options: int = 4
    mix: dict[str, float] = field(default_factory=dict)
    categories: dict[str, float] = field(default_factory=dict)
    language: str = "en"
    seed: int = 0
    sibling_of: str = ""
    """Benchmark config whose facts this one asks in other questions."""
    exclude: list[str] = field(default_factory=list)
    """Benchmark configs with which no question may be shared."""
    held_out: float = 0.0
    """Share of the questions, drawn by key and seed, that no training learns from."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)


@dataclass
class ModelConfig:
    """Which model is asked, and how it is loaded."""

    name: str = ""
    kind: str = "base"
    """base | reference | endpoint | catalogue (a name looked up in the workspace)"""
    source: str = ""
    """embedded | reference | a Hugging Face id | a local folder"""
    revision: str | None = None
    base_url: str = ""
    """endpoint: the address before /chat/completions."""
    served: str = ""
    """endpoint: what its server calls the model; empty = as `name` says."""
    api_key_env: str | None = None
    """endpoint: the environment variable that holds the key; the key itself stands nowhere."""
    concurrency: int = 8
    timeout_first_s: float = 300.0
    timeout_s: float = 600.0
    max_retries: int = 6
    extra: dict[str, Any] = field(default_factory=dict)
    """endpoint: further fields of each request, such as top_p."""
    thinking: bool = False
    """Local models whose chat template has the switch: reason before the answer."""
    price_in: float | None = None
    """endpoint: what a million prompt tokens cost, in any currency; null = not known."""
    price_out: float | None = None
    """endpoint: what a million tokens of replies cost."""


@dataclass
class SamplingConfig:
    """How a run draws replies; null = as its benchmark was frozen."""

    temperature: float | None = None
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int | None = None


@dataclass
class RowsConfig:
    """What a training learns from, where runs or a file hold more or less than it should be."""

    replay: float = 0.4
    """mode=failures: share of all rows that are right replies, so that what the model can do stays."""
    per_question: int = 4
    """mode=distill: at most so many different right replies to one question, the shortest ones."""
    max_truncated: float = 0.01
    """Share of rows that may be longer than max_length and lose the start of their prompt."""


@dataclass
class GrpoConfig:
    """What recipe=grpo has beside the settings of every training; why each is so stands in its file."""

    num_generations: int = 8
    """G: completions of one prompt, compared with one another; they divide a step's completions."""
    temperature: float = 1.0
    max_completion_length: int = 64
    loss_type: str = "dapo"
    """dapo | dr_grpo | bnpo | grpo"""
    beta: float = 0.0
    epsilon: float = 0.2
    epsilon_high: float = 0.28
    scale_rewards: str = "group"
    """group | batch | none"""
    mask_truncated_completions: bool = True
    format_weight: float = 0.0
    """Reward, on top of 1, of a right answer in exactly the form asked for; 0.1 at most."""
    hold_out: float = 0.0
    """Share of the benchmark's questions, drawn by key, that are not trained on."""
    vllm: bool = False


@dataclass
class StopConfig:
    """When a training ends before its last step: a held-out benchmark is asked on the way."""

    benchmark_id: int | None = None
    """null = nothing is asked; its questions count as seen, since they decide which adapter lands."""
    every: int = 10
    """Steps between two evaluations."""
    patience: int = 2
    """Evaluations without a better score after which it ends."""
    limit: int = 50
    """Of the benchmark's first questions; of one that holds some out, of the first of those."""


@dataclass
class RecipeConfig:
    """Every hyperparameter of a training, none left to a library's default."""

    name: str = "lora"
    rows: RowsConfig = field(default_factory=RowsConfig)
    stop: StopConfig = field(default_factory=StopConfig)
    grpo: GrpoConfig = field(default_factory=GrpoConfig)
    learning_rate: float = 1e-3
    epochs: float = 1.0
    max_steps: int = -1
    """More than 0 overrides epochs."""
    batch_size: int = 8
    gradient_accumulation: int = 1
    r: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: str = "all-linear"
    scheduler: str = "linear"
    warmup: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    max_length: int = 512
    save_steps: int = 10
    layers: float = 1.0
    """Upper share of the layers that get an adapter."""
    optimizer: str = "auto"
    gradient_checkpointing: bool = False
    batching: str = "auto"
    """auto | packed | padded"""
    quantization: str = "none"
    """none | nf4: the base's linear maps in 4 bits (QLoRA), on a CUDA device only."""


@dataclass
class TrainerConfig:
    """Which library trains: auto = unsloth on a usable CUDA device, else plain trl + peft."""

    name: str = "auto"


@dataclass
class TrackerConfig:
    """Where metrics go beside the job's own metrics.jsonl."""

    name: str = "none"
    """none | wandb"""
    project: str = "benchgen"
    entity: str | None = None
    mode: str = "auto"
    """auto (online with a key, else offline) | online | offline"""


@dataclass
class HardwareConfig:
    """Where local models run; auto = the fastest that this machine can do."""

    device: str = "auto"
    dtype: str = "auto"
    threads: int | None = None
    batch_rows: int | None = None
    processes: int = 1
    """Of a training: one a GPU, each with its share of a step's rows; needs trainer=trl."""


@dataclass
class PermissionsConfig:
    """What the user may do, on top of looking, planning and writing drafts."""

    train: bool = True
    """Confirm or resume a training or a merge."""
    publish: bool = True
    """Publish a benchmark, or take one back."""
    endpoint: bool = True
    """Ask a model behind an endpoint."""
    push: bool = True
    """Take a model to the hub."""


@dataclass
class AgentConfig:
    """Which brain reads the messages of a chat; the rest is for one that asks a model, and limits one turn."""

    name: str = "rules"
    """rules (embedded, offline) | llm"""
    model: str = ""
    """llm: the model that is asked, by its name in the catalogue."""
    writer: str = ""
    """The model that writes questions where no shipped author can; empty = that of an llm brain, else none."""
    rounds: int = 8
    """Times that it is asked."""
    calls: int = 12
    """Calls of tools that are carried out."""
    faults: int = 4
    """Calls that cannot be carried out, before the turn ends."""
    repeats: int = 3
    """The same call, before the turn ends."""
    max_new_tokens: int = 1500
    temperature: float = 0.0
    timeout_s: float = 120.0
    """For one answer of an endpoint; after that it counts as offline, and the rules answer."""
    max_retries: int = 1
    """Of an endpoint that does not answer; a person waits meanwhile."""


@dataclass
class LimitsConfig:
    """What one turn of a chat may take, and how long a plan waits in it."""

    turn_s: float = 900.0
    questions_per_turn: int = 150
    """Written by a model; `continue` goes on."""
    plan_s: float = 3600.0
    """A yes that comes later confirms nothing."""


@dataclass
class LoopConfig:
    """The path of `benchgen loop`: which benchmarks are asked, and what is trained on."""

    name: str = ""
    title: str = ""
    benchmark: str = ""
    """Asked of all three models; trained on, when its runs are among the plan's."""
    held_out: str = ""
    """Asked of base and trained, never trained on."""
    practice: str | None = None
    """More of the same for the teacher; null = train on `benchmark` alone."""
    student: str = "smollm2_135m"
    teacher: str = "reference"
    mode: str = "distill"


@dataclass
class LauncherConfig:
    """Who starts the jobs of a sweep (`-m`)."""

    name: str = "basic"
    """An option of hydra/launcher: basic, joblib, submitit_local, submitit_slurm, ray."""
    package: str = ""
    """What has to be installed for it."""
    program: str = ""
    """What this machine has to have for it."""
    leaves_host: bool = False
    """Jobs run on other machines: SQLite cannot be written from there."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Its own settings, as the launcher's package names them."""


@dataclass
class Config:
    """Everything a verb can be told; each verb reads its own part."""

    verb: str = ""
    workspace: str = "workspace"
    database: str | None = None
    """URL of the PostgreSQL database that a workspace is begun with; null = SQLite inside it."""
    output: str = "text"
    """text | json"""
    user: str | None = None
    seed: int = 0
    dry: bool = False
    benchmark: BenchmarkConfig = field(default_factory=BenchmarkConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    author: AuthorConfig = field(default_factory=AuthorConfig)
    """create: an author in place of the benchmark config's own."""
    recipe: RecipeConfig = field(default_factory=RecipeConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    tracker: TrackerConfig = field(default_factory=TrackerConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    permissions: PermissionsConfig = field(default_factory=PermissionsConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    """chat: the brain."""
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    """chat: of one turn."""
    session: str | None = None
    """chat: go on with the one of this name."""
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    """run: in place of the benchmark's own settings; compare warns where runs differ in them."""
    loop: LoopConfig = field(default_factory=LoopConfig)
    launcher: LauncherConfig = field(default_factory=LauncherConfig)
    """-m: who starts the jobs."""
    sweep: str | None = None
    """-m: the sweep's name, made of its combinations where none is given; report: the sweep shown."""
    name: str | None = None
    kind: str | None = None
    """create: the kind of questions, where the author leaves a choice."""
    count: int | None = None
    """create: how many questions."""
    hash: str | None = None
    """create: make it only if it is exactly what a preview (dry=yes) showed under this hash."""
    question: int | None = None
    """edit: number of the question, from 1."""
    change: dict[str, Any] = field(default_factory=dict)
    """edit: fields of the question with their new values."""
    replace: dict[str, Any] = field(default_factory=dict)
    """Maps given whole, by `own_maps`: Hydra would merge them into what a file says."""
    given: list[str] = field(default_factory=list)
    """plan: settings of the recipe that were typed, those at their default among them."""
    background: bool = False
    """create, resume with a model as author: write all of it in a process of its own."""
    write_id: int | None = None
    sibling_of: int | None = None
    """create: another benchmark like this one, with no question in common."""
    benchmark_id: int | None = None
    run_id: Any = None
    """One id, or a list of them where a verb takes several."""
    job_id: int | None = None
    model_id: int | None = None
    """run, preflight: the model by its id, as models lists it."""
    plan_id: int | None = None
    runs: list[int] = field(default_factory=list)
    baseline: int | None = None
    program: str | None = None
    """rescore, compare: the scoring program, latest, own or the first digits of one's sha256."""
    mode: str | None = None
    rows: int | None = None
    offset: int | None = None
    """dataset: show the page that begins after so many rows."""
    every: bool = False
    """compare: test every two runs, not each against the baseline alone."""
    lines: int = 20
    limit: int | None = None
    repeats: int = 1
    """run: how often each question is asked."""
    retry_errors: bool = False
    """resume: ask again what got no reply."""
    format: str | None = None
    path: str | None = None
    dataset: str | None = None
    base_model: str | None = None
    repo: str | None = None
    """publish: a repository of the Hugging Face hub, owner/name."""
    private: bool = True
    """publish with repo: only its owner sees it."""
    answer: str | None = None
    confirm: str | None = None
    rerun: str | None = None
    """verify: yes = repeat the experiment, and compare."""
