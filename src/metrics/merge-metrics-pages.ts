/**
 * Merges several pages in the text format of Prometheus. The format requires all series of a metric together
 * under one HELP and one TYPE. A label distinguishes the series of the pages.
 */
export function mergeMetricsPages(pages: string[]): string {
  const metrics = new Map<string, { head: string[]; series: string[] }>();
  for (const page of pages) {
    let current: { head: string[]; series: string[] } | undefined;
    let isNew = false;
    for (const line of page.split('\n')) {
      const [, name] = /^# HELP (\S+) /.exec(line) ?? [];
      if (name !== undefined) {
        current = metrics.get(name);
        isNew = current === undefined;
        current ??= { head: [], series: [] };
        metrics.set(name, current);
      }
      if (line === '' || current === undefined) continue;
      if (!line.startsWith('#')) current.series.push(line);
      else if (isNew) current.head.push(line);
    }
  }
  return [...metrics.values()].map(({ head, series }) => `${[...head, ...series].join('\n')}\n`).join('\n');
}
