"""Names that columns have in people's files, as data. Read by `headers.py`; all in its normal form."""

from __future__ import annotations


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STRONG: dict[str, tuple[str, ...]] = {
    "question": _names("""
        question question_text question_stem question_content question_body questions stem
        query problem problem_statement problem_text
    """),
    "answer": _names("""
        answer answers correct_answer correct_answers right_answer answer_key answerkey
        correct_option correct_choice correct_letter answer_letter answer_label
        correct_label answer_index answer_idx answer_id correct_index correct_idx
        correct_answer_index correct_answer_idx correct_option_index correct_option_idx
        correct_choice_index answer_text correct_answer_text correct_text best_answer
        gold_answer gold_index gold_label expected_answer reference_answer ground_truth
        groundtruth final_answer cop correct_answer_letter correct_answer_key correct_key
        solution_letter
    """),
    "aliases": _names("""
        aliases accepted_answers accepted alternative_answers answer_aliases other_answers
        acceptable_answers synonyms
    """),
    "options": _names("""
        choices options alternatives endings candidates answer_choices answer_options
        possible_answers mc1_targets mc2_targets choice option
    """),
    "wrong": _names("""
        distractors incorrect_answers wrong_answers incorrect_options incorrect
        wrong_options false_answers incorrect_choices wrong_choices
    """),
    "context": _names("context passage article paragraph background story"),
    "rationale": _names("""
        rationale explanation reasoning support worked_answer cot cot_content
        chain_of_thought justification exp feedback
    """),
    "category": _names("""
        category subject topic domain subcategory area theme field section chapter
        subject_name topic_name activity_label discipline task
    """),
    "difficulty": _names("difficulty difficulty_level level hardness"),
    "language": _names("language lang locale"),
    "id": _names("id question_id qid uid"),
    "tools": _names(
        "tools functions function available_tools available_functions tool_definitions"
    ),
    "calls": _names("""
        expected_calls expected_tool_calls tool_calls calls expected_call function_calls
        function_call gold_calls target_calls reference_calls
    """),
    "messages": _names("messages"),
    "points": _names("""
        key_points keypoints key_point points rubric criteria key_facts must_mention
        required_points
    """),
    "rel_tol": _names("rel_tol relative_tolerance"),
    "abs_tol": _names("abs_tol absolute_tolerance"),
    "units": _names("units unit"),
    "kind": _names("kind question_type type"),
}
"""Names that say what the column holds. The first of a role's names that a file has is the role's."""

WEAK: dict[str, tuple[str, ...]] = {
    "question": _names(
        "prompt input instruction text q ques que ctx goal sentence statement item user"
    ),
    "answer": _names("""
        target label gold key correct expected solution ideal ans a reference response
        output completion result value
    """),
    "rationale": _names("solution reference reference_text"),
}
"""Names that can as well mean something else: only where no strong name is there."""

ROLES = (*STRONG, "A to Z (the options)")
OTHER = frozenset(
    (
        "",
        *_names("""
    author chosen comment comments completion conversation conversations correct date
    extracted idx ind index input instruction no notes nr number output points_possible
    rejected reply response row row_number source source_id split split_type tags target
    unnamed_0 url
"""),
    )
)
"""Known names of columns that play no part in a question; a header line may be told by them."""

SEVERAL = ("answers", "correct_answers")
"""Names of columns that list all accepted answers, so they may say more than the column of the first."""
INDEX_NAMES = frozenset(
    name for name in STRONG["answer"] if name.endswith(("index", "idx")) or name == "cop"
)
LETTER_NAMES = frozenset(name for name in STRONG["answer"] if name.endswith("letter"))
TEXT_NAMES = frozenset(name for name in STRONG["answer"] if name.endswith("_text"))

FOREIGN: dict[str, tuple[str, ...]] = {
    "question": _names("""
        frage fragen fragestellung aufgabe pregunta domanda pergunta questão questao
        enunciado vraag fråga spørgsmål spørsmål kysymys pytanie otázka kérdés soru вопрос
        питання ερώτηση سؤال السؤال שאלה प्रश्न 问题 题目 問題 題目 質問 질문 문제 câu_hỏi pertanyaan
    """),
    "answer": _names("""
        antwort lösung loesung richtige_antwort korrekte_antwort réponse reponse
        bonne_réponse réponse_correcte respuesta respuesta_correcta risposta
        risposta_corretta risposta_esatta resposta resposta_correta gabarito antwoord
        juiste_antwoord svar rätt_svar rigtigt_svar riktig_svar vastaus odpowiedź
        poprawna_odpowiedź odpověď správná_odpověď válasz cevap doğru_cevap ответ
        правильный_ответ відповідь правильна_відповідь απάντηση الجواب الإجابة
        الإجابة_الصحيحة תשובה תשובה_נכונה उत्तर 答案 正确答案 正確答案 正解 答え 解答 回答 정답 답 답변 đáp_án
        jawaban
    """),
    "options": _names("""
        antwortmöglichkeiten optionen auswahl choix propositions opciones opzioni opções
        alternativas opties варианты 选项 選項 選択肢 보기
    """),
    "category": _names("""
        kategorie thema fach catégorie thème matière sujet categoría tema materia categoria
        argomento disciplina categorie onderwerp kategori kategoria категория тема категорія
        类别 類別 分类 分類 범주
    """),
    "difficulty": _names("""
        schwierigkeit schwierigkeitsgrad difficulté niveau dificultad nivel difficoltà
        dificuldade moeilijkheid сложность 难度 難度 難易度 난이도
    """),
    "rationale": _names("""
        erklärung begründung erläuterung explication explicación spiegazione explicação
        uitleg объяснение 解析 解説 해설
    """),
    "language": _names("sprache langue idioma lingua taal язык 语言 語言 言語 언어"),
}
"""Header words of other languages: used only where every column of the file is known."""

OPTION_PREFIXES = _names("""
    option choice alternative opt answer ans answer_option answer_choice possible_answer
    response variant op sol ending
""")
FOREIGN_PREFIXES = _names("""
    antwort antwortmöglichkeit auswahl opción opcion respuesta réponse reponse choix
    proposition opzione risposta alternativa opção opcao resposta optie antwoord alternativ
    вариант варіант odpowiedź opcja wariant odpověď možnost válasz válaszlehetőség seçenek şık cevap svar
    svarsalternativ vaihtoehto mulighed variantă răspuns επιλογή lựa_chọn phương_án pilihan opsi خيار الخيار
    אפשרות 选项 選項 選択肢 보기
""")
