/**
 * What `npm start` gives Node, for everything that is measured or measures: references have the same. See
 * docs/adr/0002-node-26-and-typescript-as-it-is.md.
 */
export const NODE_FLAGS = ['--max-semi-space-size=64', '--no-flush-bytecode'];
