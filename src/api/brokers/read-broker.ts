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
import {
  CLOUD_OF,
  type Cloud,
  isOfCloud,
  isWorkloadKind,
  NOT_OF_CLOUD,
} from '../../domain/config/workload.ts';
import { invalid } from '../../domain/errors.ts';
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
  refuseOtherCloud(kind, read, at);
  return read;
}

function valueAt(given: Given, name: string): unknown {
  const [group = '', leaf] = name.split('.');
  return leaf === undefined ? given[group] : (given[group] as Given | undefined)?.[leaf];
}

/** Not in the description: it knows the servers of the clouds. */
function refuseOtherCloud(
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

/**
 * A tenant with these settings acts with the role of the machine, and so with the rights of the operator. So the operator
 * must have allowed it for the cloud.
 */
export function checkWorkload(
  settings: { type: string } | null | undefined,
  { path, allowed }: { path: string; allowed: readonly Cloud[] },
): void {
  const kind = settings?.type ?? '';
  if (!isWorkloadKind(kind) || !usesWorkload(settings)) return;
  if (allowed.includes(CLOUD_OF[kind])) return;
  throw invalid(
    `${path}.${kind}.credentials`,
    `may be workload only where the operator allows it: POSTHORN_WORKLOAD_CREDENTIALS does not have ${CLOUD_OF[kind]}`,
  );
}

/** Also of settings that are not complete. */
export function usesWorkload(settings: object | null | undefined): boolean {
  return Object.values(settings ?? {}).some(
    (one: unknown) =>
      typeof one === 'object' &&
      one !== null &&
      (one as { credentials?: unknown }).credentials === 'workload',
  );
}
