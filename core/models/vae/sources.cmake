list(APPEND LATHE_MODELS_SOURCES
  vae/layout.cpp vae/layout.h vae/network.cpp vae/network.h vae/normalisation.h vae/tiny.cpp vae/tiny.h vae/vae.cpp vae/vae.h)
