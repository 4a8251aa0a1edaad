# SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output
"""C of kernels, runtime and platforms that goes into every project."""
