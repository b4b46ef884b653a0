import { EventEmitter } from 'node:events';
import { type DestinationStream, type Logger as PinoLogger, pino, stdSerializers } from 'pino';

export type Logger = PinoLogger;

/**
 * Secrets are `Secret` objects, which print as `***`. This list is a second line of defence, by name. A field
 * with one of these names is not logged, at the top or one level down. Row contents quoted by a database
 * error are not logged either.
 */
const NAMES = [
  'authorization',
  'cookie',
  'headers',
  'password',
  'secret',
  'secrets',
  'sealed',
  'token',
  'access_token',
  'client_secret',
  'client_key',
  'private_key',
  'signing_key',
  'connectionString',
  'slack_webhook_url',
  'teams_webhook_url',
];
const ROW_QUOTES = ['detail', 'where', 'internalQuery', 'parameters'];

/** At most this many bytes of lines are buffered while they cannot be written, for instance on a full disk. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

const standardError = () =>
  pino.destination({ dest: 2, sync: false, minLength: 0, maxLength: MAX_WAITING_BYTES });

/** JSON lines on stderr. Stdout is for the output of commands. */
export function createLogger(level: string, destination: DestinationStream = standardError()): Logger {
  // A failed write emits an error event, which would end the process without a listener. A node counts them.
  if (destination instanceof EventEmitter) destination.on('error', () => {});
  return pino(
    {
      level,
      base: null,
      serializers: { err: withoutRows },
      redact: { paths: NAMES.flatMap((name) => [name, `*.${name}`]), censor: '***' },
    },
    destination,
  );
}

function withoutRows(error: Error): unknown {
  const shown: unknown = stdSerializers.err(error);
  if (typeof shown !== 'object' || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !ROW_QUOTES.includes(name)));
}
