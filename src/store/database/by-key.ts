/**
 * The condition that joins a row of a table keyed by project and id to the one that names it: `byKey('q.delivery_id',
 * 'f.id')` finds the row of `q` that has the project and id of `f`.
 *
 * The project goes as an array of one. A plain equality would be one the planner may merge by, for which it also weighs
 * reading the whole index in order, or all of a project; while a table is nearly empty these look as cheap as a lookup,
 * and a plan made then is kept while the table fills. By an array nothing can be merged, so what is left is the lookup.
 */
export function byKey(id: string, named: string): string {
  const [row, source] = [id, named].map((column) => column.split('.')[0]);
  return `${row}.project_id = any(array[${source}.project_id]) and ${id} = ${named}`;
}
