import { StartupError } from '../platform/startup-error.ts';
import { cloudEnvironment } from './cloud-environment.ts';
import { readProviders } from './oidc-providers.ts';
import {
  addressRanges,
  anyOf,
  BadValue,
  cellNames,
  headerPairs,
  integer,
  listOf,
  oneOf,
  optional,
  type Parser,
  postgresUrl,
  secretKey,
  secretUrl,
  share,
  text,
  url,
} from './parsers.ts';

/**
 * Every setting of the program: one table of environment name, default and meaning. docs/config.md is
 * generated from it. A POSTHORN_ variable that is not here is an error, so that a typo in a name is not
 * silently ignored.
 */
export interface Setting<T> {
  env: string;
  /** Empty by default. */
  fallback?: string;
  doc: string;
  parse: Parser<T>;
  /** Never printed. */
  secret?: boolean;
}

/**
 * Two for hot statements, two for the others, one for the lease, one for LISTEN on config changes, one for
 * upkeep.
 */
const LEAST_CONNECTIONS = 7;
const USUAL_CONNECTIONS = 14;

const ROLES = ['api', 'ingest', 'deliver', 'broker', 'janitor'] as const;

export const settings = {
  host: { env: 'POSTHORN_HOST', fallback: '127.0.0.1', doc: 'Address to listen on.', parse: text() },
  port: {
    env: 'POSTHORN_PORT',
    fallback: '5005',
    doc: 'Port to listen on; 0 picks a free one.',
    parse: integer(0, 65_535),
  },
  publicUrl: {
    env: 'POSTHORN_PUBLIC_URL',
    doc: 'Public URL of this service. Default: the listening address.',
    parse: url('http:', 'https:'),
  },
  trustedProxies: {
    env: 'POSTHORN_TRUSTED_PROXIES',
    doc: 'Reverse proxies whose forwarded headers are used.',
    parse: addressRanges,
  },
  sourceAddresses: {
    env: 'POSTHORN_SOURCE_ADDRESSES',
    doc: 'Addresses that deliveries come from, as receivers see them. Shown in the portal and by the API, for their firewalls.',
    parse: addressRanges,
  },
  dataDir: {
    env: 'POSTHORN_DATA_DIR',
    fallback: './.posthorn',
    doc: 'Directory of the embedded database, credentials.json and the secret key.',
    parse: text(),
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    doc: 'PostgreSQL 15 or newer. Default: the embedded one. Needs POSTHORN_SECRET_KEY. With several hosts, Posthorn uses the one that takes writes. See deploy.md.',
    parse: postgresUrl('any', 'read-write', 'primary'),
    secret: true,
  },
  readUrl: {
    env: 'POSTHORN_READ_URL',
    doc: 'A standby of the database, for exports and time series. Default: none. See deploy.md.',
    parse: postgresUrl('any', 'standby', 'prefer-standby', 'read-only'),
    secret: true,
  },
  databaseCaFile: {
    env: 'POSTHORN_DATABASE_CA_FILE',
    doc: 'PEM file of the certificate authorities of the database, of its standby and of the cells. Their connections use TLS then. See deploy.md.',
    parse: text(),
  },
  timelineWaitSeconds: {
    env: 'POSTHORN_TIMELINE_WAIT',
    fallback: '60',
    doc: 'Seconds after which an old primary of the database is used again, if every server of its URL follows it. See operations.md.',
    parse: integer(1, 86_400),
  },
  databaseConnections: {
    env: 'POSTHORN_DATABASE_CONNECTIONS',
    doc: 'Maximum connections to the database, divided among the processes, at least 7 for each. Default: 14 for each.',
    parse: optional(integer(LEAST_CONNECTIONS, 1000)),
  },
  searchSeconds: {
    env: 'POSTHORN_SEARCH_SECONDS',
    fallback: '5',
    doc: 'Timeout of a list or search in seconds.',
    parse: integer(1, 60),
  },
  secretKey: {
    env: 'POSTHORN_SECRET_KEY',
    doc: 'Seals stored secrets. Embedded default: secret.key, created in the data directory on the first start.',
    parse: secretKey,
    secret: true,
  },
  otherSecretKey: {
    env: 'POSTHORN_OTHER_SECRET_KEY',
    doc: 'The next or previous key, while the key is changed. It opens values and seals none. See secrets.md.',
    parse: secretKey,
    secret: true,
  },
  processes: {
    env: 'POSTHORN_PROCESSES',
    fallback: '1',
    doc: 'Number of processes, to use as many cores. Each is a node: settings per node apply to each.',
    parse: integer(1, 128),
  },
  roles: {
    env: 'POSTHORN_ROLES',
    fallback: ROLES.join(','),
    doc: 'Roles of this node.',
    parse: listOf(...ROLES),
  },
  cells: {
    env: 'POSTHORN_CELLS',
    doc: 'Names of the cells that the roles deliver, janitor and broker of this node are for. Default: all.',
    parse: cellNames,
  },
  egress: {
    env: 'POSTHORN_EGRESS',
    doc: 'public: no loopback, private or reserved addresses. Default: any while bound to loopback with the embedded database, else public.',
    parse: oneOf('any', 'public', ''),
  },
  egressAllow: {
    env: 'POSTHORN_EGRESS_ALLOW',
    doc: 'Ranges that deliveries may reach although the egress rule blocks them.',
    parse: addressRanges,
  },
  egressDeny: {
    env: 'POSTHORN_EGRESS_DENY',
    doc: 'Ranges that deliveries may never reach.',
    parse: addressRanges,
  },
  workloadCredentials: {
    env: 'POSTHORN_WORKLOAD_CREDENTIALS',
    doc: 'Clouds whose credentials of this machine endpoints and sources may use. See brokers.md.',
    parse: anyOf('aws', 'google'),
  },
  httpProxy: {
    env: 'POSTHORN_HTTP_PROXY',
    doc: 'Proxy that deliveries go through.',
    parse: secretUrl('http:', 'https:'),
    secret: true,
  },
  caFile: {
    env: 'POSTHORN_CA_FILE',
    doc: 'PEM file of further certificate authorities that deliveries trust.',
    parse: text(),
  },
  maxBodyBytes: {
    env: 'POSTHORN_MAX_BODY_BYTES',
    fallback: '5242880',
    doc: 'Largest request body of the API in bytes. A call whose schema needs less takes less.',
    parse: integer(1024, 1_073_741_824),
  },
  maxJsonDepth: {
    env: 'POSTHORN_MAX_JSON_DEPTH',
    fallback: '100',
    doc: 'Most levels of lists and objects in the JSON of a request or a message.',
    parse: integer(8, 512),
  },
  maxJsonNames: {
    env: 'POSTHORN_MAX_JSON_NAMES',
    fallback: '100000',
    doc: 'Most names of fields in the JSON of a request or a message. Lists and objects: twice as many.',
    parse: integer(1_000, 10_000_000),
  },
  mcp: {
    env: 'POSTHORN_MCP',
    fallback: 'off',
    doc: 'on: assistants and agents may use this service by the Model Context Protocol, at /mcp. See agents.md.',
    parse: oneOf('off', 'on'),
  },
  mcpSubscriptions: {
    env: 'POSTHORN_MCP_SUBSCRIPTIONS',
    fallback: '100',
    doc: 'Maximum live subscriptions of agents per project and owner.',
    parse: integer(1, 1_000),
  },
  apiRate: {
    env: 'POSTHORN_API_RATE',
    fallback: '0',
    doc: 'Maximum API calls per key and second on this node; 0 = no limit.',
    parse: integer(0, 1_000_000),
  },
  portalRate: {
    env: 'POSTHORN_PORTAL_RATE',
    fallback: '50',
    doc: 'Maximum API calls per portal link and second on this node; 0 = no limit.',
    parse: integer(0, 1_000_000),
  },
  maxRetrySeconds: {
    env: 'POSTHORN_MAX_RETRY_SECONDS',
    fallback: '7200',
    doc: 'Longest exponential backoff in seconds, before jitter of up to 20 %; also the longest Retry-After that is obeyed. Waits of a list may be longer.',
    parse: integer(1, 31_536_000),
  },
  maxOrderedFanout: {
    env: 'POSTHORN_MAX_ORDERED_FANOUT',
    fallback: '20000',
    doc: 'Most ordered deliveries that a call makes, with all of its events. See ordering.md.',
    parse: integer(1_000, 1_000_000),
  },
  defaults: {
    env: 'POSTHORN_DEFAULTS',
    fallback: 'standard',
    doc: 'Settings of new projects: `standard`, as Standard Webhooks recommends, or `convoy`: 10 attempts 100 s apart, a timeout of 10 s. See standards.md.',
    parse: oneOf('standard', 'convoy'),
  },
  retentionHours: {
    env: 'POSTHORN_RETENTION_HOURS',
    fallback: '720',
    doc: 'Hours that events, deliveries and attempts are kept at least. See retention.md.',
    parse: integer(24, 876_000),
  },
  exportDir: {
    env: 'POSTHORN_EXPORT_DIR',
    doc: 'Existing directory to which expired data is exported before it is removed. See retention.md.',
    parse: text(),
  },
  graceSeconds: {
    env: 'POSTHORN_GRACE',
    fallback: '30',
    doc: 'Seconds that a stopping node waits for deliveries in flight before it releases them.',
    parse: integer(0, 3600),
  },
  window: {
    env: 'POSTHORN_WINDOW',
    fallback: '3000',
    doc: 'Maximum deliveries that a node leases at a time. One counts once per 64 kB of its payload.',
    parse: integer(1, 1_000_000),
  },
  endpointConcurrency: {
    env: 'POSTHORN_ENDPOINT_CONCURRENCY',
    fallback: '64',
    doc: 'Maximum concurrent requests from a node to one endpoint. Eight times as many messages to a broker.',
    parse: integer(1, 10_000),
  },
  smtpUrl: {
    env: 'POSTHORN_SMTP_URL',
    doc: 'Mail server, such as smtp://user:password@mail.example.com:587. Needs POSTHORN_SMTP_FROM. Default: no mail.',
    parse: secretUrl('smtp:', 'smtps:'),
    secret: true,
  },
  smtpFrom: {
    env: 'POSTHORN_SMTP_FROM',
    doc: 'Sender of the mails, such as alerts@example.com.',
    parse: text(),
  },
  sessionHours: {
    env: 'POSTHORN_SESSION_HOURS',
    fallback: '12',
    doc: 'Hours after which a person has to sign in again.',
    parse: integer(1, 8760),
  },
  sessionIdleMinutes: {
    env: 'POSTHORN_SESSION_IDLE_MINUTES',
    fallback: '30',
    doc: 'Minutes without a call after which a session ends.',
    parse: integer(2, 525_600),
  },
  passwordSignIn: {
    env: 'POSTHORN_PASSWORD_SIGN_IN',
    fallback: 'on',
    doc: 'Whether people may sign in with a password.',
    parse: oneOf('on', 'off'),
  },
  oidcProviders: {
    env: 'POSTHORN_OIDC_PROVIDERS',
    fallback: '[]',
    doc: 'OpenID Connect providers. See people.md.',
    parse: readProviders,
    secret: true,
  },
  secondFactor: {
    env: 'POSTHORN_SECOND_FACTOR',
    fallback: 'optional',
    doc: 'Whether people need a second factor. A project can require it too.',
    parse: oneOf('optional', 'required'),
  },
  certificateDays: {
    env: 'POSTHORN_CERTIFICATE_DAYS',
    fallback: '14',
    doc: 'Days before expiry at which a certificate raises an alert; 0 = never.',
    parse: integer(0, 3650),
  },
  metrics: {
    env: 'POSTHORN_METRICS',
    doc: 'Whether `GET /metrics` is served. Default: on while bound to loopback, else off.',
    parse: oneOf('on', 'off', ''),
  },
  otlpEndpoint: {
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    doc: 'OTLP collector, such as http://127.0.0.1:4318; /v1/traces is appended. Default: no traces.',
    parse: url('http:', 'https:'),
  },
  otlpHeaders: {
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    doc: 'Headers for the collector, values percent-encoded.',
    parse: headerPairs,
    secret: true,
  },
  otelServiceName: {
    env: 'OTEL_SERVICE_NAME',
    fallback: 'posthorn',
    doc: 'Name of the service in traces.',
    parse: text(),
  },
  traceShare: {
    env: 'OTEL_TRACES_SAMPLER_ARG',
    fallback: '1',
    doc: 'Share of the traces begun here that are recorded.',
    parse: share,
  },
  logLevel: {
    env: 'POSTHORN_LOG_LEVEL',
    fallback: 'info',
    doc: 'Log level.',
    parse: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
  },
} as const satisfies Record<string, Setting<unknown>>;

type Parsed = { [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']> };
export type Config = Readonly<Parsed> & {
  /** The text of each variable that was given, by its name. Null for secrets. */
  readonly given: Readonly<Record<string, string | null>>;
  /** The variables of clouds. */
  readonly cloud: Readonly<Record<string, string>>;
};

/** Where commands find a service (src/cli/remote/connect.ts). A shell that has them may start a server all the same. */
const OF_COMMANDS = ['POSTHORN_URL', 'POSTHORN_API_KEY', 'POSTHORN_PROJECT'];

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const known = new Set<string>([...Object.values(settings).map((setting) => setting.env), ...OF_COMMANDS]);
  const unknown = Object.keys(env).find((name) => name.startsWith('POSTHORN_') && !known.has(name));
  if (unknown !== undefined)
    throw new StartupError(`unknown setting ${unknown}; docs/config.md lists every setting`);
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(settings)) {
    values[name] = parseSetting(setting, env[setting.env] ?? '');
  }
  values['databaseConnections'] ||= USUAL_CONNECTIONS * (values['processes'] as number);
  const config: Config = { ...(values as Parsed), given: givenTexts(env), cloud: cloudEnvironment(env) };
  if (config.databaseConnections < LEAST_CONNECTIONS * config.processes)
    throw new StartupError(
      `POSTHORN_PROCESSES=${config.processes} needs POSTHORN_DATABASE_CONNECTIONS of at least ${LEAST_CONNECTIONS * config.processes}: ${LEAST_CONNECTIONS} for each process`,
    );
  if (config.databaseUrl !== null && config.secretKey === null)
    throw new StartupError(
      'DATABASE_URL also needs POSTHORN_SECRET_KEY; generate one with: openssl rand -base64 32',
    );
  if (config.readUrl !== null && config.databaseUrl === null)
    throw new StartupError('POSTHORN_READ_URL also needs DATABASE_URL, the database that it is a standby of');
  if (config.smtpUrl !== null && config.smtpFrom === '')
    throw new StartupError('POSTHORN_SMTP_URL also needs POSTHORN_SMTP_FROM, the sender of the mails');
  return Object.freeze(config);
}

function givenTexts(env: NodeJS.ProcessEnv): Config['given'] {
  const given: Record<string, string | null> = {};
  for (const { env: name, secret } of Object.values<Setting<unknown>>(settings)) {
    const text = env[name] ?? '';
    if (text !== '') given[name] = secret === true ? null : text;
  }
  return given;
}

function parseSetting(setting: Setting<unknown>, given: string): unknown {
  try {
    return setting.parse(given === '' ? (setting.fallback ?? '') : given);
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    const shown = setting.secret === true ? '' : ` "${given}"`;
    throw new StartupError(`bad value${shown} for ${setting.env}: expected ${error.message}`);
  }
}
