/**
 * The Node flags of `npm start`, for every process of the bench. References use the same. See
 * docs/adr/0002-node-26-and-typescript-as-it-is.md.
 */
export const NODE_FLAGS = ['--max-semi-space-size=16', '--no-flush-bytecode'];
