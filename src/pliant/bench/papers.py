"""The papers whose experiments can be run."""

from pliant.bench import paper_a, paper_b, plots_a, plots_b, tables_a, tables_b
from pliant.bench.paper import Paper

PAPERS = {
    "paper-a": Paper("paper-a", "Paper A", paper_a.Plan(), paper_a.QUICK, paper_a.EXPERIMENTS, tables_a.TABLES, plots_a.PLOTS),
    "paper-b": Paper("paper-b", "Paper B", paper_b.Plan(), paper_b.QUICK, paper_b.EXPERIMENTS, tables_b.TABLES, plots_b.PLOTS),
}
