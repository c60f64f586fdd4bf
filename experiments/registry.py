"""The papers whose experiments can be run."""

from experiments.bitar2011 import plots as bitar2011_plots
from experiments.bitar2011 import runs as bitar2011_runs
from experiments.bitar2011 import tables as bitar2011_tables
from experiments.georgii2007 import plots as georgii2007_plots
from experiments.georgii2007 import runs as georgii2007_runs
from experiments.georgii2007 import tables as georgii2007_tables
from experiments.larsson2001 import plots as larsson2001_plots
from experiments.larsson2001 import runs as larsson2001_runs
from experiments.larsson2001 import tables as larsson2001_tables
from experiments.larsson2003a import plots as larsson2003a_plots
from experiments.larsson2003a import runs as larsson2003a_runs
from experiments.larsson2003a import tables as larsson2003a_tables
from experiments.larsson2003b import plots as larsson2003b_plots
from experiments.larsson2003b import runs as larsson2003b_runs
from experiments.larsson2003b import tables as larsson2003b_tables
from experiments.larsson2008 import plots as larsson2008_plots
from experiments.larsson2008 import runs as larsson2008_runs
from experiments.larsson2008 import tables as larsson2008_tables
from experiments.paper import Paper
from experiments.steinemann2008 import plots as steinemann2008_plots
from experiments.steinemann2008 import runs as steinemann2008_runs
from experiments.steinemann2008 import tables as steinemann2008_tables

PAPERS = {
    "larsson2001": Paper("larsson2001", "Paper A", larsson2001_runs.Plan(), larsson2001_runs.QUICK, larsson2001_runs.EXPERIMENTS,
                         larsson2001_tables.TABLES, larsson2001_plots.PLOTS),
    "larsson2003a": Paper("larsson2003a", "Paper B", larsson2003a_runs.Plan(), larsson2003a_runs.QUICK, larsson2003a_runs.EXPERIMENTS,
                          larsson2003a_tables.TABLES, larsson2003a_plots.PLOTS),
    "larsson2003b": Paper("larsson2003b", "Paper C", larsson2003b_runs.Plan(), larsson2003b_runs.QUICK, larsson2003b_runs.EXPERIMENTS,
                          larsson2003b_tables.TABLES, larsson2003b_plots.PLOTS, "hits"),
    "bitar2011": Paper("bitar2011", "Paper D", bitar2011_runs.Plan(), bitar2011_runs.QUICK, bitar2011_runs.EXPERIMENTS,
                       bitar2011_tables.TABLES, bitar2011_plots.PLOTS, "distances"),
    "georgii2007": Paper("georgii2007", "Paper G", georgii2007_runs.Plan(), georgii2007_runs.QUICK, georgii2007_runs.EXPERIMENTS,
                         georgii2007_tables.TABLES, georgii2007_plots.PLOTS,
                     "pairs (but for what sampling missed)"),
    "steinemann2008": Paper("steinemann2008", "Paper M", steinemann2008_runs.Plan(), steinemann2008_runs.QUICK,
                            steinemann2008_runs.EXPERIMENTS, steinemann2008_tables.TABLES, steinemann2008_plots.PLOTS),
    "larsson2008": Paper("larsson2008", "Paper S", larsson2008_runs.Plan(), larsson2008_runs.QUICK, larsson2008_runs.EXPERIMENTS,
                         larsson2008_tables.TABLES, larsson2008_plots.PLOTS),
}
