import { isPlainInSealed } from '../../domain/audit-view.ts';
import { marksOf } from '../../platform/json/schema-marks.ts';
import { withoutFunctionMessage } from '../../routing/function-failure.ts';
import { isSealed, MASK, maskedValues } from './portal-view.ts';
import { compileView, type FieldViews, type Schema, type View } from './schema-view.ts';

/**
 * The view that the role viewer has of a response, for every operation in one place: no secrets, and no payloads if
 * the project hides them. Objects that are stored sealed show only the fields that are known not to be secret, so a new
 * kind of credential is hidden by default.
 */
export interface RoleViewer {
  hidesPayload: boolean;
}

type RoleView = View<RoleViewer>;

/** Only texts, because a name such as `secret` may also be that of a group of settings. */
const maskedText = (schema: Schema): RoleView | undefined =>
  schema.type === 'string' ? (value) => (value === '' ? '' : MASK) : undefined;

const sealed = (): RoleView => (value) => maskSealed(value, '');

/** A payload is any JSON, so its schema has no type. A group of settings has one. */
const payload =
  (hidden: unknown) =>
  (schema: Schema): RoleView | undefined =>
    schema.properties !== undefined || schema.items !== undefined
      ? undefined
      : (value, { hidesPayload }) => (hidesPayload ? hidden : value);

const unquoted =
  (): RoleView =>
  (value, { hidesPayload }) =>
    hidesPayload && typeof value === 'string' ? withoutFunctionMessage(value) : value;

const views: FieldViews<RoleViewer> = {
  secret: maskedText,
  token: maskedText,
  auth_key: maskedText,
  // Code may hold credentials of the services that it writes for.
  function: maskedText,
  body_function: maskedText,
  header_function: maskedText,
  headers: (schema) => (isSealed(schema) ? maskedValues : undefined),
  verifier: sealed,
  pub_sub: sealed,
  broker: sealed,
  db_change_stream: sealed,
  data: payload(null),
  // A value of the payload or of a header.
  ordering_key: payload(''),
  ordering_key_id: payload(''),
  raw: payload(''),
  response_data: payload(''),
  url_query_params: payload(''),
  // Why a filter did or did not match, which may quote the payload.
  reason: payload(MASK),
  actual: payload(MASK),
  failure_reason: unquoted,
  description: unquoted,
};

/** Fields with a mark, wherever an answer has them. */
function fallback(_name: string, schema: Schema): RoleView | undefined {
  const { secrecy, hiddenAs } = marksOf(schema);
  if (hiddenAs !== undefined) return () => hiddenAs;
  return secrecy === 'credential' ? maskedText(schema) : undefined;
}

export function compileViewerView(schema: object): RoleView {
  return compileView(schema, { views, fallback }) ?? ((value) => value);
}

function maskSealed(value: unknown, name: string): unknown {
  if (typeof value === 'string') return value === '' || isPlainInSealed(name, value) ? value : MASK;
  if (Array.isArray(value)) return value.map((item) => maskSealed(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskSealed(item, key)]));
}
