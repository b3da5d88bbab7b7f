"""Question sets of other benchmarks, loaded from the user's own files; none of them comes with this package.

Readable are: question files of the TEXT2SPARQL challenge (``.yml``, ``.yaml``), QALD 9-plus and 10 and LC-QuAD 2
(``.json``), GRASP's samples (``.jsonl``), and SHACL example queries (``.ttl``, or a folder of them as in
sib-swiss/sparql-examples).
"""

from __future__ import annotations

from pytest_llmkg.cases.question_sets.model import Question, QuestionSet
from pytest_llmkg.cases.question_sets.reading import is_question_file, load_question_set
from pytest_llmkg.cases.question_sets.to_cases import CONTEXTS, KGQA_TASK, question_cases

__all__ = [
    "CONTEXTS",
    "KGQA_TASK",
    "Question",
    "QuestionSet",
    "is_question_file",
    "load_question_set",
    "question_cases",
]
