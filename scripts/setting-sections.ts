import { CreateEndpoint, UpdateEndpoint } from '../src/api/endpoints/endpoint-schema.ts';
import { CreateEventType, UpdateEventType } from '../src/api/event-types/event-type-schema.ts';
import { CreatePortalLink, UpdatePortalLink } from '../src/api/portal/portal-link-schema.ts';
import { CreateSource, UpdateSource } from '../src/api/sources/source-schema.ts';
import { CreateFilter, UpdateFilter } from '../src/api/subscriptions/filter-schema.ts';
import { CreateSubscription, UpdateSubscription } from '../src/api/subscriptions/subscription-schema.ts';
import { defaultProjectConfig, ProjectConfig } from '../src/domain/config/project-config.ts';
import { settingDefaults, settingTexts } from './setting-texts.ts';

/** The settings of each resource with their values, from the request schemas. */
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: string[];
}

const SCHEMAS: Record<string, object[]> = {
  Projects: [ProjectConfig],
  Endpoints: [CreateEndpoint, UpdateEndpoint],
  Subscriptions: [CreateSubscription, UpdateSubscription],
  Filters: [CreateFilter, UpdateFilter],
  'Event types': [CreateEventType, UpdateEventType],
  'Portal links': [CreatePortalLink, UpdatePortalLink],
  Sources: [CreateSource, UpdateSource],
};

function leaves(schema: Schema, prefix = ''): [name: string, schema: Schema][] {
  const properties = schema.properties ?? schema.items?.properties;
  if (properties === undefined) return [[prefix, schema]];
  return Object.entries(properties).flatMap(([name, below]) =>
    leaves(below, prefix === '' ? name : `${prefix}.${name}`),
  );
}

/** Every setting of each resource by its dotted name. */
export const resourceSettings: Record<string, ReadonlyMap<string, Schema>> = Object.fromEntries(
  Object.entries(SCHEMAS).map(([section, schemas]) => [
    section,
    new Map(schemas.flatMap((schema) => leaves(schema as Schema))),
  ]),
);

/** Whether a name covers a setting: itself, or `group.*` for all of a group. */
export const covers = (name: string, setting: string): boolean =>
  name === setting || (name.endsWith('.*') && setting.startsWith(name.slice(0, -1)));

function choices({ enum: values, items }: Schema): string {
  if (values?.includes('SHA3_224')) return '[hashes](sources.md#verification)';
  if (values !== undefined)
    return values
      .filter((value) => value !== '')
      .map((value) => `\`${value}\``)
      .join(', ');
  return items?.enum === undefined ? '' : choices(items);
}

function projectDefault(name: string): string {
  const value = name
    .split('.')
    .reduce<unknown>(
      (part, key) => ([part].flat()[0] as Record<string, unknown> | undefined)?.[key],
      defaultProjectConfig('', ''),
    );
  return [value].flat().join(', ');
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

export function settingSection(section: string): string {
  const settings = resourceSettings[section] ?? new Map<string, Schema>();
  const missing = [...settings.keys()].filter(
    (name) => !Object.keys(settingTexts[section] ?? {}).some((text) => covers(text, name)),
  );
  if (missing.length > 0)
    throw new Error(`scripts/setting-texts.ts has no text for ${missing.join(', ')} of ${section}`);
  const rows = Object.entries(settingTexts[section] ?? {}).map(([name, text]) => {
    const fallback = section === 'Projects' ? projectDefault(name) : (settingDefaults[section]?.[name] ?? '');
    return `|${code(name)}|${text}|${code(fallback)}|${choices(settings.get(name) ?? {})}|`;
  });
  return ['|setting|meaning|default|values|', '|---|---|---|---|', ...rows, ''].join('\n');
}
