import type { Column } from '../../ui/tables/columns.ts';
import { Time } from '../../ui/text/time.tsx';
import { CustomerLink } from '../customer-link.tsx';

type Place<T> = Partial<Column<T>>;

/** When a row was made. */
export const createdColumn = <T extends { created_at: string }>(place: Place<T>): Column<T> => ({
  name: 'Created',
  width: '6.5rem',
  isTime: true,
  cell: ({ created_at }) => <Time at={created_at} />,
  ...place,
});

export const customerColumn = <T,>(ownerOf: (row: T) => string, from: number): Column<T> => ({
  name: 'Customer',
  width: 'minmax(5rem, 9rem)',
  from,
  cell: (row) => <CustomerLink owner={ownerOf(row)} />,
});
