import { ID_PATTERN, isId } from '../../domain/ids.ts';
import { invalidParams } from '../protocol/json-rpc.ts';
import type { ProjectApi } from './project-api.ts';

/** The JSON Schema of an argument, in the few forms that models fill in well. */
export interface Argument {
  type: 'string' | 'integer' | 'boolean' | 'object' | 'array';
  description: string;
  enum?: readonly string[];
  format?: 'date-time';
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  /** That of ids, the only one there is. */
  pattern?: string;
}

export type Arguments = Readonly<Record<string, unknown>>;

/**
 * A tool: a question that people ask, answered with calls of the API by the caller's own credential. So it shows and does
 * what that credential may, within the limits of the API. The names of tools that change something end in `_write`,
 * because clients grant rights by name.
 */
export interface Tool {
  name: string;
  title: string;
  description: string;
  properties: Readonly<Record<string, Argument>>;
  required?: readonly string[];
  /** Present: the tool writes. Absent: it only reads. */
  writes?: { isDestructive: boolean; isIdempotent: boolean };
  run(api: ProjectApi, given: Arguments): Promise<object>;
}

/** A tool as `tools/list` shows it. */
export function describeTool({ name, title, description, properties, required = [], writes }: Tool): object {
  return {
    name,
    title,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    annotations: {
      title,
      readOnlyHint: writes === undefined,
      destructiveHint: writes?.isDestructive ?? false,
      idempotentHint: writes?.isIdempotent ?? true,
      // Tools that send reach the receivers of webhooks.
      openWorldHint: writes !== undefined,
    },
  };
}

/** Refuses arguments that the tool does not know. The API checks their values once more. */
export function checkArguments({ properties, required = [] }: Tool, given: Arguments): void {
  for (const name of required) if (given[name] === undefined) throw invalidParams(`${name} is required.`);
  for (const [name, value] of Object.entries(given)) {
    const wanted = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const known = Object.keys(properties).join(', ');
    if (wanted === undefined) throw invalidParams(`There is no argument ${name}. There are: ${known}.`);
    const problem = problemOf(value, wanted);
    if (problem !== null) throw invalidParams(`${name} ${problem}.`);
  }
}

function problemOf(value: unknown, wanted: Argument): string | null {
  if (!isOfType(value, wanted.type)) return `must be of type ${wanted.type}`;
  if (wanted.enum !== undefined && !wanted.enum.includes(value as string))
    return `must be one of ${wanted.enum.join(', ')}`;
  if (wanted.pattern !== undefined && !isId(value as string)) return 'is no id: `find` gives ids';
  if (typeof value === 'string' && value.length > (wanted.maxLength ?? 256)) return 'is too long';
  if (typeof value === 'number' && value < (wanted.minimum ?? 0))
    return `must be ${wanted.minimum ?? 0} or more`;
  if (typeof value === 'number' && value > (wanted.maximum ?? Number.MAX_SAFE_INTEGER))
    return `must be ${wanted.maximum} or less`;
  return null;
}

function isOfType(value: unknown, type: Argument['type']): boolean {
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'array') return Array.isArray(value) && value.every((item) => typeof item === 'string');
  return type === 'object' ? isPlain(value) : typeof value === type;
}

const isPlain = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

export const ID = (what: string): Argument => ({
  type: 'string',
  description: `The id of ${what}.`,
  pattern: ID_PATTERN.source,
});

/** Arguments that many tools share. */
export const period = {
  since: { type: 'string', format: 'date-time', description: 'Begin, such as 2026-01-31T15:04:05Z.' },
  until: { type: 'string', format: 'date-time', description: 'End. Now by default.' },
} as const satisfies Record<string, Argument>;

/** The query parameters of the API by argument. */
const PARAMETERS: ReadonlyMap<string, string> = new Map([
  ['text', 'q'],
  ['name', 'q'],
  ['endpoint_id', 'endpointId'],
  ['event_id', 'eventId'],
  ['source_id', 'sourceId'],
  ['owner_id', 'ownerId'],
  ['event_type', 'eventType'],
  ['status', 'status'],
  ['step', 'step'],
  ['unmatched', 'unmatched'],
  ['since', 'startDate'],
  ['until', 'endDate'],
]);

/** The given arguments as query parameters. Arguments for the tool alone, such as `dry_run`, are left out. */
export const queryOf = (given: Arguments): Arguments =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const parameter = PARAMETERS.get(name);
      return parameter === undefined ? [] : [[parameter, value]];
    }),
  );
