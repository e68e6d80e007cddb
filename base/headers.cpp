// Carries the precompiled headers of the layers.
