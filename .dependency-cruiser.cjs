// The layers of ARCHITECTURE.md as rules: imports point down only, types included, and no cycles.
// dependency-cruiser reads TypeScript through @swc/core; without it the cruise silently finds nothing,
// so test/architecture.test.ts also asserts how many modules were seen.
const layers = require('./layers.json');

// A folder's rule says which other folders it may import. A rule such as "store/queue" says which rooms beside it a
// room may import; what its folder may import, the room may too. Files of the folder itself stand above its rooms.
const roomsOf = (folder) => Object.keys(layers).filter((key) => key.startsWith(`${folder}/`));
const folderOf = (room) => room.split('/')[0];

const mayNotImport = Object.entries(layers).flatMap(([place, allowed]) => {
  const isRoom = place.includes('/');
  const reach = isRoom ? [place, ...allowed, ...layers[folderOf(place)]] : [place, ...allowed];
  const from = isRoom || roomsOf(place).length === 0 ? `^src/${place}/` : `^src/${place}/[^/]+$`;
  return [
    {
      name: `${place}-imports`,
      severity: 'error',
      comment: `src/${place} may import only: ${reach.join(', ')}`,
      from: { path: from, pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: reach.map((room) => `^src/${room}/`) },
    },
  ];
});

const onlyIn = (name, packages, folders) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: [...folders.map((f) => `^src/${f}`), '\\.test\\.ts$'] },
  to: { path: packages.map((p) => `node_modules/${p}(/|$)`) },
});

// The pages: ui knows nothing of the product, data speaks to the server, parts joins the two for the dashboard and the
// portal, dashboard does for the dashboard alone, a page is a folder of routes, and app puts them together. Pages do not import
// each other. The gallery shows the ui, and nothing imports it: it is in no build.
const webLayers = {
  ui: [],
  data: [],
  parts: ['ui', 'data'],
  dashboard: ['ui', 'data', 'parts'],
  routes: ['ui', 'data', 'parts', 'dashboard', 'portal'],
  portal: ['ui', 'data', 'parts'],
  embed: [],
  reference: ['ui'],
  gallery: ['ui'],
};
const BROKER_FIELDS = '^src/domain/brokers/broker-fields?\\.ts$';
const webImports = [
  ...Object.entries(webLayers).map(([place, allowed]) => ({
    name: `web-${place}-imports`,
    severity: 'error',
    comment: `web/src/${place} may import only: ${[place, ...allowed].join(', ')}`,
    from: { path: `^web/src/${place}/`, pathNot: '\\.test\\.ts$' },
    to: {
      path: '^web/src/',
      pathNot: [...[place, ...allowed].map((folder) => `^web/src/${folder}/`), '\\.css$'],
    },
  })),
  {
    name: 'web-pages-apart',
    severity: 'error',
    from: { path: '^web/src/routes/([^/]+)/' },
    to: { path: '^web/src/routes/', pathNot: '^web/src/routes/$1/' },
  },
  {
    name: 'web-portal-without-dashboard',
    severity: 'error',
    comment:
      'the portal is loaded by the customers of others: the router and the session of the dashboard are not in it',
    from: { path: '^web/src/portal/main\\.tsx$' },
    to: {
      path: ['^web/src/data/(project|session|may|search)\\.ts$', 'node_modules/@tanstack/react-router/'],
      reachable: true,
    },
  },
  {
    name: 'web-on-client-only',
    severity: 'error',
    comment:
      'the pages do what the API can do, through its client; of the server they read only the settings of brokers',
    from: { path: '^web/src/' },
    to: { path: ['^src/', '^client/'], pathNot: ['^client/src/posthorn\\.ts$', BROKER_FIELDS] },
  },
  {
    name: 'broker-fields-alone',
    severity: 'error',
    comment: 'the pages load them: they bring nothing else of the server',
    from: { path: BROKER_FIELDS },
    to: { pathNot: BROKER_FIELDS },
  },
  {
    name: 'web-client-only-in-data',
    severity: 'error',
    comment: 'ui knows nothing of the product; types may be used everywhere else',
    from: { path: '^web/src/ui/' },
    to: { path: '^client/' },
  },
];

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
    {
      name: 'client-stands-alone',
      severity: 'error',
      comment: 'the client is a package of its own: no file of the server, no dependency',
      from: { path: '^client/src/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^client/src/' },
    },
    ...webImports,
    {
      name: 'client-only-in-commands',
      severity: 'error',
      comment: 'the server does not call itself',
      from: { path: '^src/', pathNot: ['^src/cli/(remote|project-file)/', '\\.test\\.ts$'] },
      to: { path: '^client/' },
    },
    {
      name: 'remote-commands-know-no-server',
      severity: 'error',
      comment: 'they run on any machine, against any service',
      from: { path: '^src/cli/(remote|project-file|terminal)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(cli/(remote|project-file|terminal)|domain|platform|signing)/' },
    },
    {
      name: 'config-changes-only-in-control',
      severity: 'error',
      comment:
        'src/control does every step of a change of config; a statement alone would leave out the others',
      from: { path: '^src/', pathNot: ['^src/(control|store)/', '\\.test\\.ts$'] },
      to: { path: '^src/store/changes/' },
    },
    {
      name: 'kinds-of-brokers-load-when-needed',
      severity: 'error',
      comment: 'their libraries take 10 to 50 MB of memory, which only nodes with such a source pay',
      from: { path: '^src/', pathNot: '^src/brokers/[^/]+/' },
      to: { path: '^src/brokers/(?!module/)[^/]+/', dynamic: false },
    },
    onlyIn('sql-only-in-store', ['pg'], ['store/', 'embedded-postgres/', 'brokers/postgres/']),
    onlyIn('http-client-only-in-dispatch', ['undici'], ['dispatch/']),
    onlyIn('isolates-only-in-sandbox', ['isolated-vm'], ['sandbox/']),
    onlyIn('web-sockets-only-for-devices', ['ws'], ['api/devices/']),
    onlyIn('kafka-only-in-brokers', ['@platformatic/kafka'], ['brokers/kafka/']),
    onlyIn('amqp-only-in-brokers', ['amqplib'], ['brokers/amqp/']),
    onlyIn('sqs-only-in-brokers', ['@aws-sdk/client-sqs'], ['brokers/sqs/']),
    onlyIn('google-only-in-brokers', ['@google-cloud/pubsub', '@grpc/grpc-js'], ['brokers/google/']),
    onlyIn('openid-client-only-in-people', ['openid-client'], ['people/']),
    onlyIn('metrics-library-only-in-metrics', ['prom-client'], ['metrics/']),
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
