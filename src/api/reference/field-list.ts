import { refName, type Schema } from './document.ts';
import { type Html, html, prose } from './html.ts';
import type { SiteMap } from './site-map.ts';

type Links = SiteMap['schemaLinks'];

/** Requests mark the fields that they need, and responses the fields that may be absent. */
export type Use = 'request' | 'response';

/** The fields of an object. Nested objects fold out. Named schemas link to their place. */
export function fieldList(links: Links, schema: Schema, use: Use): Html {
  if (schema.properties === undefined) return html`<p>${typeText(links, schema)}</p>`;
  const required = new Set(schema.required);
  const items = Object.entries(schema.properties).map(([name, field]) => {
    const isRequired = required.has(name);
    const shown = isRequired ? field : withoutNull(field);
    return fieldItem(
      html`<code>${name}</code> <span class="type">${typeText(links, shown)}</span>${markOf(isRequired, use)}`,
      [...prose(shown.description ?? ''), limitsOf(shown)],
      innerFields(links, shown, use),
    );
  });
  return html`<ul class="fields">${items}</ul>`;
}

/** One field or parameter. */
export function fieldItem(head: Html, text: Html[], inner: Html = html``): Html {
  const isBare = text.every((part) => part.text === '');
  return html`<li>${head}${isBare ? '' : html`<p>${text}</p>`}${inner}</li>`;
}

function markOf(isRequired: boolean, use: Use): Html {
  if (use === 'request') return isRequired ? html` <b>required</b>` : html``;
  return isRequired ? html`` : html`<i>, may be absent</i>`;
}

/** A field that may be absent. The start page says what null means there. */
function withoutNull(field: Schema): Schema {
  const { anyOf, ...rest } = field;
  const others = anyOf?.filter(({ type }) => type !== 'null') ?? [];
  if (anyOf === undefined || others.length === anyOf.length) return field;
  return others.length === 1 ? { ...others[0], ...rest } : { ...rest, anyOf: others };
}

/** The type of a field in a few words. */
export function typeText(links: Links, schema: Schema): Html {
  const name = refName(schema);
  if (name !== undefined) return html`<a href="${links.get(name) ?? '/docs'}">${name}</a>`;
  if (schema.enum !== undefined)
    return html`${listed(schema.enum.map((value) => html`<code>${valueText(value)}</code>`))}`;
  if (schema.const !== undefined) return html`<code>${valueText(schema.const)}</code>`;
  if (schema.anyOf !== undefined) return html`${listed(schema.anyOf.map((one) => typeText(links, one)))}`;
  if (schema.type === 'array') return html`list of ${typeText(links, schema.items ?? {})}`;
  if (schema.format === 'date-time') return html`time`;
  return html`${[schema.type ?? 'any JSON'].flat().join(' or ')}`;
}

const valueText = (value: unknown): string => (value === '' ? '""' : String(value));

function listed(parts: Html[]): Html[] {
  return parts.map((part, i) => (i === 0 ? part : html` or ${part}`));
}

function limitsOf({ minimum, maximum, maxLength }: Schema): Html {
  if (minimum !== undefined && maximum !== undefined) return html` <i>${minimum} to ${maximum}.</i>`;
  return maxLength === undefined ? html`` : html` <i>At most ${maxLength} characters.</i>`;
}

function innerFields(links: Links, schema: Schema, use: Use): Html {
  const inner = [schema, schema.items, ...(schema.anyOf ?? [])].find((one) => one?.properties !== undefined);
  if (inner === undefined) return html``;
  return html`<details><summary>Fields</summary>${fieldList(links, inner, use)}</details>`;
}
