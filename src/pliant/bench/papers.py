"""The papers whose experiments can be run."""

from pliant.bench import (
    paper_a,
    paper_b,
    paper_c,
    paper_d,
    paper_g,
    paper_m,
    paper_s,
    plots_a,
    plots_b,
    plots_c,
    plots_d,
    plots_g,
    plots_m,
    plots_s,
    tables_a,
    tables_b,
    tables_c,
    tables_d,
    tables_g,
    tables_m,
    tables_s,
)
from pliant.bench.paper import Paper

PAPERS = {
    "paper-a": Paper("paper-a", "Paper A", paper_a.Plan(), paper_a.QUICK, paper_a.EXPERIMENTS, tables_a.TABLES, plots_a.PLOTS),
    "paper-b": Paper("paper-b", "Paper B", paper_b.Plan(), paper_b.QUICK, paper_b.EXPERIMENTS, tables_b.TABLES, plots_b.PLOTS),
    "paper-c": Paper("paper-c", "Paper C", paper_c.Plan(), paper_c.QUICK, paper_c.EXPERIMENTS, tables_c.TABLES, plots_c.PLOTS, "hits"),
    "paper-d": Paper("paper-d", "Paper D", paper_d.Plan(), paper_d.QUICK, paper_d.EXPERIMENTS, tables_d.TABLES, plots_d.PLOTS, "distances"),
    "paper-g": Paper("paper-g", "Paper G", paper_g.Plan(), paper_g.QUICK, paper_g.EXPERIMENTS, tables_g.TABLES, plots_g.PLOTS,
                     "pairs (but for what sampling missed)"),
    "paper-m": Paper("paper-m", "Paper M", paper_m.Plan(), paper_m.QUICK, paper_m.EXPERIMENTS, tables_m.TABLES, plots_m.PLOTS),
    "paper-s": Paper("paper-s", "Paper S", paper_s.Plan(), paper_s.QUICK, paper_s.EXPERIMENTS, tables_s.TABLES, plots_s.PLOTS),
}
