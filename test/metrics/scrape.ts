/** The metrics of a node, read as Prometheus would. */
export interface Scrape {
  /** Metric name to type, as declared. */
  types: Map<string, string>;
  /** The value of one series, named as on the page: `name{label="value"}`. */
  value(series: string): number;
  /** Every series on the page. */
  series: string[];
}

export async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  const types = new Map<string, string>();
  const values = new Map<string, number>();
  for (const line of lines) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) types.set(name, type);
    if (line.startsWith('#')) continue;
    const cut = line.lastIndexOf(' ');
    values.set(line.slice(0, cut), Number(line.slice(cut + 1)));
  }
  return {
    types,
    series: [...values.keys()],
    value: (series) => {
      const value = values.get(series);
      if (value === undefined) throw new Error(`there is no series ${series}`);
      return value;
    },
  };
}
