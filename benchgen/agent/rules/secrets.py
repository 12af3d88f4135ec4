"""Keys and tokens in a message, and wishes to see one."""

from __future__ import annotations

import re

from benchgen.models.redact import unless_words

_KEYS = re.compile(
    r"\bhf_[A-Za-z0-9]{8,}|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}|\bgh[oprsu]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bglpat-[\w-]{16,}|\bAKIA[A-Z0-9]{12,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{20,}|\bnvapi-[\w-]{10,}"
    r"|\bgsk_\w{16,}|\br8_\w{16,}|\bxai-[\w-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
    r"|\bbearer\s+[\w.~+/=-]{12,}"
)
_GIVEN = re.compile(
    r"(?:api[\s_-]?key|token|password|passwort|passwd|secret|contraseña|clave|mot de passe|senha|пароль|ключ|"
    r"密钥|密码|令牌|パスワード|キー|access[\s_-]?key|credentials?)\"?'?\s?(?:is|are|ist|es|est|é|è|[:=：]|是|は)\s?[\"'“`]?"
    r"(?P<value>[^\s\"'”`,;]{8,200})",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"\b[A-Z][A-Z0-9]{0,30}_(?:[A-Z0-9]{1,20}_)?(?:TOKEN|KEY|SECRET|PASSWORD)\b(?!\s*=\s*\d)"
)
_NOUN = re.compile(
    r"\b(?:api[\s_-]?(?:keys?|tokens?)|(?:access|hf|hub|auth|bearer|secret|hugging\s?face|openai|wandb|w&b|my|your|the|our)\s"
    r"(?:api\s|access\s|auth\s|secret\s)?(?:tokens?|keys?)(?!\s(?:usage|counts?|limits?|budgets?|points?|used|length|s\b))|passwords?|credentials?|secrets?|secret keys?|passwort|passwörter|"
    r"zugangsdaten|schlüssel|contraseñas?|claves? (?:de (?:la )?)?(?:api|secretas?)|credenciales|mots? de passe|clés? (?:api|d'api|secrètes?)|"
    r"identifiants|senhas?|chaves? (?:de )?api|credenciais|chiav[ei] (?:api|segret[ae])|credenziali)\b"
    r"|пароль|api[\s-]?ключ|секретн\w* ключ|токен доступа|密钥|密码|令牌|パスワード|apiキー|シークレット|トークンを(?:見|教)",
    re.IGNORECASE,
)
_KEPT_IN = re.compile(
    r"(?:^|[\s/\\~\"'`(])\.(?:ssh|aws|gnupg|kube|netrc|pgpass|env|npmrc|pypirc|git-credentials)(?![\w-])"
    r"|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|/etc/(?:shadow|sudoers)\b|/proc/\S{0,40}environ\b",
    re.IGNORECASE,
)
"""Files that hold keys and passwords."""
_ASK = re.compile(
    r"\b(?:print|show|tell|give|reveal|display|what(?:'s| is| are)|whats|echo|send|leak|read (?:me|out)|dump|expose|list|"
    r"see|share|which|repeat|output|zeig\w*|nenne?|sag|gib|verrate?|wie lautet|mu[eé]stra\w*|dime|dame|enseña\w*|cuál es|montre\w*|"
    r"affiche\w*|donne\w*|dis|quel\w* est|mostr\w*|diga|qual é|dimmi|dammi|qual è)\b|покажи|скажи|какой|выведи|"
    r"显示|告诉|给我|打印|是什么|見せて|教えて|表示",
    re.IGNORECASE,
)


def holds_secret(text: str) -> bool:
    """Whether a key, token or password stands in the text."""
    return hidden(text, "") != text


def hidden(text: str, mark: str) -> str:
    """The text with `mark` in place of every key, token and password that `holds_secret` sees."""

    def given(found: re.Match[str]) -> str:
        value = found["value"]
        return found[0].removesuffix(value) + mark if _secretive(value) else found[0]

    return _GIVEN.sub(given, _KEYS.sub(lambda found: unless_words(found[0], mark), text))


def _secretive(value: str) -> bool:
    """Whether the word after `token:` can be one: letters and digits or signs together, no number, no path."""
    return bool(
        re.search(r"[A-Za-z]", value)
        and re.search(r"[\d!@#$%^&*]", value)
        and not re.fullmatch(r"[A-Z][A-Z_]+", value)
    )


def asks_for_secret(text: str) -> bool:
    """Whether the text wants to be shown a key, token or password, or names a file that holds such."""
    if _KEPT_IN.search(text):
        return True
    noun = _VARIABLE.search(text) or _NOUN.search(text)
    if noun is None or re.search(r"\b(?:answer|correct|right|score) keys?\b", text, re.IGNORECASE):
        return False
    if re.search(
        r"\bdo i need|\bwhere do i|\bwhere should|\bhow do i|\bneed (?:a|to)\b", text, re.IGNORECASE
    ):
        return False
    return bool(_ASK.search(text))
