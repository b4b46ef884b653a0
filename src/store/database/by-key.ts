/**
 * The condition that joins a row keyed by project and id to another row: `byKey('q.delivery_id', 'f.id')`
 * finds the row of `q` with the project and id of `f`.
 *
 * The project is passed as an array of one. With a plain equality the planner also considers a merge join
 * that reads the whole index in order, or all of a project. While a table is nearly empty these look as cheap
 * as a lookup, and the plan is kept while the table fills. An array rules out a merge join, so only the
 * lookup is left.
 */
export function byKey(id: string, named: string): string {
  const [row, source] = [id, named].map((column) => column.split('.')[0]);
  return `${row}.project_id = any(array[${source}.project_id]) and ${id} = ${named}`;
}
