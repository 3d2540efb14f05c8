"""Good: a method of snhkit with a cell width of his own choice."""

import snhkit as snh

mechanism = snh.Identity(cell_m=1_000)
