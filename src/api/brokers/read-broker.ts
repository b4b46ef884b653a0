import {
  type BrokerField,
  type BrokerUse,
  hasMeaning,
  problemOf,
  type TextOf,
  textsOf,
  usualOf,
} from '../../domain/brokers/broker-field.ts';
import { type BrokerFieldsKind, fieldsFor } from '../../domain/brokers/broker-fields.ts';
import { isOfCloud, isWorkloadKind, NOT_OF_CLOUD } from '../../domain/config/workload.ts';
import type { Problems } from '../http/problems.ts';

/** The place of the settings in a request. */
interface At {
  path: string;
  problems: Problems;
}

type Given = Readonly<Record<string, unknown>>;

/** Settings of a kind of broker, checked by the description of its fields. No broker is contacted. */
export function readBroker(
  { kind, use }: { kind: BrokerFieldsKind; use: BrokerUse },
  given: Given,
  at: At,
): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  const fields = fieldsFor(kind, use);
  const textOf = textsOf(fields, (name) => valueAt(given, name));
  for (const [name, field] of Object.entries(fields)) {
    const [group = '', leaf] = name.split('.');
    const value = valueAt(given, name) ?? given[field.alias ?? ''];
    if (field.isLeftOut === true && !value) continue;
    if (leaf !== undefined && given[group] === undefined) {
      read[group] = null;
      continue;
    }
    const own = readField(field, value, { path: `${at.path}.${name}`, problems: at.problems, textOf });
    if (leaf === undefined) read[name] = own;
    else read[group] = { ...(read[group] as Given), [leaf]: own };
  }
  checkWorkload(kind, read, at);
  return read;
}

function valueAt(given: Given, name: string): unknown {
  const [group = '', leaf] = name.split('.');
  return leaf === undefined ? given[group] : (given[group] as Given | undefined)?.[leaf];
}

/** Not in the description: it knows the servers of the clouds. */
function checkWorkload(
  kind: string,
  { credentials, endpoint }: Record<string, unknown>,
  { path, problems }: At,
): void {
  if (credentials !== 'workload' || !isWorkloadKind(kind) || !endpoint) return;
  if (!isOfCloud(kind, endpoint as string)) problems.add(`${path}.endpoint`, NOT_OF_CLOUD);
}

function readField(
  field: BrokerField,
  given: unknown,
  { path, problems, textOf }: At & { textOf: TextOf },
): unknown {
  const value = valueOf(field, given, textOf);
  const [place, problem] = problemOf(field, value, textOf) ?? [];
  if (problem !== undefined) problems.add(`${path}${place}`, problem);
  return field.kind === 'bytes' ? Buffer.from(String(value), 'base64').toString('base64') : value;
}

function valueOf(field: BrokerField, given: unknown, textOf: TextOf): unknown {
  switch (field.kind) {
    case 'flag':
      return given ?? false;
    case 'list':
      return given ?? [];
    case 'bytes':
      return Array.isArray(given) ? base64Of(given) : (given ?? '');
    case 'text':
    case 'secret':
    case 'choice':
      if (given === undefined && field.isNullable === true) return null;
      return given || (hasMeaning(field, textOf) ? usualOf(field, textOf) : '');
  }
}

/** An array of anything but bytes is refused as a text that is not base64. */
const NO_BASE64 = '?';

function base64Of(given: readonly unknown[]): string {
  const isByte = (value: unknown) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256;
  return given.every(isByte) ? Buffer.from(given as number[]).toString('base64') : NO_BASE64;
}
