// The layers of ARCHITECTURE.md as rules: imports point down only, types included, and no cycles.
// dependency-cruiser reads TypeScript through @swc/core; without it the cruise silently finds nothing,
// so test/architecture.test.ts also asserts how many modules were seen.
const layers = require('./layers.json');

const mayNotImport = Object.entries(layers).map(([folder, allowed]) => ({
  name: `${folder}-imports`,
  severity: 'error',
  comment: `src/${folder} may import only: ${allowed.join(', ') || 'nothing of ours'}`,
  from: { path: `^src/${folder}/`, pathNot: '\\.test\\.ts$' },
  to: { path: '^src/', pathNot: [folder, ...allowed].map((a) => `^src/${a}(/|\\.ts$)`) },
}));

const onlyIn = (name, packages, folders) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: [...folders.map((f) => `^src/${f}`), '\\.test\\.ts$'] },
  to: { path: packages.map((p) => `node_modules/${p}(/|$)`) },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'nothing-imports-tests',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(test|bench|scripts)/|\\.test\\.ts$' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    ...mayNotImport,
    onlyIn('sql-only-in-store', ['pg'], ['store/']),
    onlyIn('http-client-only-in-dispatch', ['undici'], ['dispatch/']),
    onlyIn('isolates-only-in-sandbox', ['isolated-vm'], ['sandbox/']),
    onlyIn('metrics-library-only-in-platform', ['prom-client'], ['platform/']),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    parser: 'swc',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
