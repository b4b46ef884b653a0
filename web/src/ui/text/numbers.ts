/** A number that is not known is a dash. */
export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  return `${value > 0 && value < 1 ? value.toFixed(1) : Math.round(value)} %`;
}

export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : value.toLocaleString('en');
