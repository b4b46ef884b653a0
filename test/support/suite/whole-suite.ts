/** Whether this run has every test: `npm test` sets the variable, and arguments would select single files. */
export const isWholeSuite = process.env['WHOLE_SUITE'] === '1' && process.argv.slice(2).join(' ') === 'run';
