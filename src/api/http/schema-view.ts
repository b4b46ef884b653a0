/** The parts of a JSON Schema that code here reads. */
export interface Schema {
  $comment?: string;
  type?: unknown;
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  format?: unknown;
  maxLength?: number;
  maxItems?: number;
  required?: readonly string[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

/**
 * The view that a kind of caller has of a response, compiled once from the response's schema. `views` says by name which fields
 * change, and `fallback` decides on all others. Values without a schema, such as payloads, stay unchanged.
 */
export type View<Viewer> = (value: unknown, viewer: Viewer) => unknown;
export type FieldViews<Viewer> = Readonly<Record<string, (schema: Schema) => View<Viewer> | undefined>>;

interface Rules<Viewer> {
  views: FieldViews<Viewer>;
  fallback?(name: string, schema: Schema): View<Viewer> | undefined;
}

/** Undefined if nothing below needs a change. */
export function compileView<Viewer>(schema: Schema, rules: Rules<Viewer>): View<Viewer> | undefined {
  if (schema.properties !== undefined) return objectView(schema.properties, rules);
  if (schema.items !== undefined) {
    const item = compileView(schema.items, rules);
    return item && ((value, viewer) => (value as unknown[]).map((each) => item(each, viewer)));
  }
  const branches = (schema.anyOf ?? [])
    .map((branch) => compileView(branch, rules))
    .filter((view) => view !== undefined);
  const [branch] = branches;
  if (branches.length > 1) throw new Error('a view cannot know which branch of a union it has');
  return branch && ((value, viewer) => (value === null ? null : branch(value, viewer)));
}

function objectView<Viewer>(
  properties: Record<string, Schema>,
  rules: Rules<Viewer>,
): View<Viewer> | undefined {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const own = Object.hasOwn(rules.views, name) ? rules.views[name]?.(schema) : undefined;
    const view = own ?? rules.fallback?.(name, schema) ?? compileView(schema, rules);
    return view === undefined ? [] : [[name, view] as const];
  });
  if (fields.length === 0) return undefined;
  return (value, viewer) => {
    const shown = { ...(value as Record<string, unknown>) };
    for (const [name, view] of fields) {
      if (shown[name] !== undefined && shown[name] !== null) shown[name] = view(shown[name], viewer);
    }
    return shown;
  };
}
