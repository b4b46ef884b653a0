import { CreateEndpoint, UpdateEndpoint } from '../src/api/endpoints/endpoint-schema.ts';
import { CreateEventType, UpdateEventType } from '../src/api/event-types/event-type-schema.ts';
import { CreatePortalLink, UpdatePortalLink } from '../src/api/portal/portal-link-schema.ts';
import { CreateSource, UpdateSource } from '../src/api/sources/source-schema.ts';
import { CreateFilter, UpdateFilter } from '../src/api/subscriptions/filter-schema.ts';
import { CreateSubscription, UpdateSubscription } from '../src/api/subscriptions/subscription-schema.ts';
import { newProjectConfig, ProjectConfig } from '../src/domain/config/project-config.ts';
import { endpointFields } from '../src/domain/resources/endpoint-fields.ts';
import { type Fields, usualValues } from '../src/domain/resources/fields.ts';
import { portalLinkFields } from '../src/domain/resources/portal-link-fields.ts';
import { sourceFields } from '../src/domain/resources/source-fields.ts';
import { subscriptionFields } from '../src/domain/resources/subscription-fields.ts';

/** The settings of each resource, from the schemas of requests. */
interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: string[];
}

interface Resource {
  schemas: object[];
  defaults: object;
}

const defaultsOf = (fields: Fields): object =>
  usualValues(Object.fromEntries(Object.entries(fields).filter(([, { facts }]) => !facts.required)));

const RESOURCES: Record<string, Resource> = {
  Projects: {
    schemas: [ProjectConfig],
    defaults: newProjectConfig(
      { versionId: '', createdAt: '' },
      { defaults: 'standard', retentionMs: Infinity },
    ),
  },
  Endpoints: { schemas: [CreateEndpoint, UpdateEndpoint], defaults: defaultsOf(endpointFields) },
  Subscriptions: {
    schemas: [CreateSubscription, UpdateSubscription],
    defaults: defaultsOf(subscriptionFields),
  },
  Filters: { schemas: [CreateFilter, UpdateFilter], defaults: {} },
  'Event types': { schemas: [CreateEventType, UpdateEventType], defaults: {} },
  'Portal links': { schemas: [CreatePortalLink, UpdatePortalLink], defaults: defaultsOf(portalLinkFields) },
  Sources: { schemas: [CreateSource, UpdateSource], defaults: defaultsOf(sourceFields) },
};

/** A description that refers to a page stands for the whole group. */
const isGroup = ({ description = '' }: Schema): boolean => description.startsWith('See [');

function settingsOf(schema: Schema, prefix = ''): [name: string, schema: Schema][] {
  const properties = schema.properties ?? schema.items?.properties;
  if (properties === undefined) return [[prefix, schema]];
  if (isGroup(schema)) return [[`${prefix}.*`, schema]];
  return Object.entries(properties).flatMap(([name, below]) =>
    settingsOf(below, prefix === '' ? name : `${prefix}.${name}`),
  );
}

/** Every setting of a resource by its dotted name, or `group.*`. The first schema that describes it wins. */
function allSettings({ schemas }: Resource): ReadonlyMap<string, Schema> {
  const all = new Map<string, Schema>();
  for (const [name, schema] of schemas.flatMap((one) => settingsOf(one as Schema)))
    if (all.get(name)?.description === undefined) all.set(name, schema);
  return all;
}

export const resourceSettings: Record<string, ReadonlyMap<string, Schema>> = Object.fromEntries(
  Object.entries(RESOURCES).map(([section, resource]) => [section, allSettings(resource)]),
);

/** Whether a name covers a setting: itself, or `group.*` for all of a group. */
export const covers = (name: string, setting: string): boolean =>
  name === setting || (name.endsWith('.*') && setting.startsWith(name.slice(0, -1)));

/** The allowed values that neither the description nor the default names. */
function choices({ description = '', enum: values, items }: Schema, usual: string): string {
  if (values === undefined) return items?.enum === undefined ? '' : choices({ description, ...items }, usual);
  if (values.includes('SHA3_224')) return ' One of the [hashes](sources.md#verification).';
  if (values.includes('github')) return '';
  const all = values.filter((value) => value !== '').map(code);
  const rest = all.filter((value) => !description.includes(value) && !usual.includes(value));
  if (rest.length === 0) return '';
  return rest.length === all.length ? ` ${rest.join(', ')}.` : ` Or ${rest.join(', ')}.`;
}

function defaultOf(defaults: object, name: string): string {
  const value = name
    .split('.')
    .reduce<unknown>(
      (part, key) => ([part].flat()[0] as Record<string, unknown> | undefined)?.[key],
      defaults,
    );
  return [value]
    .flat()
    .map((one) => (typeof one === 'object' && one !== null ? '' : one))
    .join(', ');
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** Groups whose fields stand in a table of another page, with the row that stands for them. */
const ELSEWHERE: Record<string, string> = {
  verifier: '|`verifier.*`|See [Verification](sources.md#verification).||',
  schedule: '|`schedule.*`|See [Schedules](sources.md#schedules).||',
};

export function settingSection(section: string): string {
  const rows = [...(resourceSettings[section] ?? [])].map(([name, schema]) => {
    const { description } = schema;
    if (description === undefined) throw new Error(`${name} of ${section} has no description in its schema`);
    const usual = code(defaultOf(RESOURCES[section]?.defaults ?? {}, name));
    const [group = ''] = name.split('.');
    return ELSEWHERE[group] ?? `|${code(name)}|${description}${choices(schema, usual)}|${usual}|`;
  });
  return ['|setting|meaning|default|', '|---|---|---|', ...new Set(rows), ''].join('\n');
}
