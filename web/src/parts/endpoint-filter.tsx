import { useEndpointChoices } from '../data/endpoint-choices.ts';
import { FilterSelect, FilterText } from '../ui/controls/filter-controls.tsx';

/** One of the endpoints. With many of them it takes an id. */
export function EndpointFilter({ value, onChange }: { value: string; onChange(value: string): void }) {
  const { endpoints: known, isAll } = useEndpointChoices();
  if (!isAll) return <FilterText label="Endpoint id" value={value} onChange={onChange} />;
  const isKnown = value === '' || known.some(({ uid }) => uid === value);
  return (
    <FilterSelect
      label="Endpoint"
      value={value}
      onChange={onChange}
      choices={[
        ['', 'Any endpoint'],
        ...(isKnown ? [] : [[value, value] as const]),
        ...known.map(({ uid, name }) => [uid, name] as const),
      ]}
    />
  );
}
