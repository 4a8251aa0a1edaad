"""Templates of generated text, which tflmgen.backend renders."""
