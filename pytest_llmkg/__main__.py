"""``python -m pytest_llmkg`` is the command ``llmkg``."""

import sys

from pytest_llmkg.cli import main

sys.exit(main())
