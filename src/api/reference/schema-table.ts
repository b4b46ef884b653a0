import { type OpenApiDocument, refName, type Schema } from './document.ts';
import { type Html, html } from './html.ts';

/** The fields of an object as rows. Nested objects fold out. Named schemas link to their own section. */
export function schemaTable(document: OpenApiDocument, schema: Schema): Html {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => [name, required.has(name) ? field : withoutNull(field)] as const,
  );
  const rows = fields.map(
    ([name, field]) => html`<tr>
<td><code>${name}</code>${required.has(name) ? html`<b title="required">*</b>` : ''}</td>
<td>${typeText(field)}</td>
<td>${field.description ?? ''}${limitsOf(field)}${innerTable(document, field)}</td>
</tr>`,
  );
  return html`<table>${rows}</table>`;
}

/** A field that may be absent. The introduction of the page says what null means there. */
function withoutNull(field: Schema): Schema {
  const { anyOf, ...rest } = field;
  const others = anyOf?.filter(({ type }) => type !== 'null') ?? [];
  if (anyOf === undefined || others.length === anyOf.length) return field;
  return others.length === 1 ? { ...others[0], ...rest } : { ...rest, anyOf: others };
}

/** The type of a field in a few words. */
export function typeText(schema: Schema): Html {
  const name = refName(schema);
  if (name !== undefined) return html`<a href="#schema-${name}">${name}</a>`;
  if (schema.enum !== undefined)
    return html`${listed(schema.enum.map((value) => html`<code>${valueText(value)}</code>`))}`;
  if (schema.const !== undefined) return html`<code>${valueText(schema.const)}</code>`;
  if (schema.anyOf !== undefined) return html`${listed(schema.anyOf.map(typeText))}`;
  if (schema.type === 'array') return html`list of ${typeText(schema.items ?? {})}`;
  if (schema.format === 'date-time') return html`time`;
  return html`${[schema.type ?? 'any JSON'].flat().join(' or ')}`;
}

const valueText = (value: unknown): string => (value === '' ? '""' : String(value));

function listed(parts: Html[]): Html[] {
  return parts.map((part, i) => (i === 0 ? part : html` or ${part}`));
}

function limitsOf(schema: Schema): Html | string {
  const { minimum, maximum, maxLength } = schema;
  if (minimum !== undefined && maximum !== undefined) return html` <i>${minimum} to ${maximum}</i>`;
  if (maxLength !== undefined) return html` <i>at most ${maxLength} characters</i>`;
  return '';
}

function innerTable(document: OpenApiDocument, schema: Schema): Html | string {
  const inner = [schema, schema.items, ...(schema.anyOf ?? [])].find((one) => one?.properties !== undefined);
  if (inner === undefined) return '';
  return html`<details><summary>fields</summary>${schemaTable(document, inner)}</details>`;
}
