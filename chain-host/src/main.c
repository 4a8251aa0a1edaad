/* The firmware's main(). tflmgen writes this file once; from then on it is yours. */
#include <chain.h>
#include <tflmgen/board.h>
#include <tflmgen/serve.h>

int main(void) {
  /* To call the model yourself instead (lib/chain/include/chain.h has all of its functions):
   *
   *   chain_reset();
   *   memcpy(chain_input(), samples, sizeof samples);
   *   if (chain_invoke() == TFLMGEN_OK) use(chain_output());
   *
   * `tflmgen run`, `test` and `bench` need the line below: it answers them over the board's UART and does not return. */
  tflmgen_serve(&chain_model, &tflmgen_board_link);
  return 0;
}
