"""How Sphinx builds the site: `make docs`, into out/docs.

Pages are the Markdown files of this folder, readable as they are on a Git host too; what only the site has is added while it is built
(`docs/site`). Nothing is fetched, neither while it is built nor while it is read: no fonts, scripts or inventories of others.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent / "src")]

import pliant  # noqa: E402

project, author, version, release = "Pliant", "The Pliant authors", pliant.__version__, pliant.__version__
project_copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery", "landing", "docstrings", "offline"]
root_doc = "index"
exclude_patterns = ["site", "gallery/**.ipynb", "gallery/**.py", "gallery/**.json"]

# Markdown: anchors of headings as Git hosts spell them. Blocks without a language are not Python.
myst_heading_anchors = 4
highlight_language = "none"
smartquotes = False

# Docstrings: types stand in signatures, one argument a line where they are long.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
python_use_unqualified_type_names = True
maximum_signature_line_length = 100

# Examples run while the site is built, each in one process with the others; `docs/site/pictures_of_examples.py` draws for them.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ["pictures_of_examples.scraper"],
    "reset_modules": (),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
}

html_theme = "furo"
html_title = f"Pliant {release}"
html_static_path = ["static"]
html_css_files = ["pliant.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # would be fetched page by page, which browsers refuse for files
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#b3261e", "color-brand-content": "#2f5d9e", "color-brand-visited": "#2f5d9e",
                            "color-sidebar-link-text--top-level": "#3d4450"},
    "dark_css_variables": {"color-brand-primary": "#f58d80", "color-brand-content": "#8cacd4", "color-brand-visited": "#8cacd4",
                           "color-sidebar-link-text--top-level": "#c3c9d3"},
}
