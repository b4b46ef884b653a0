import { useQuery } from '@tanstack/react-query';
import { useProject } from '../data/project.ts';
import { FilterSelect, FilterText } from '../ui/controls/filter-controls.tsx';

const MAX_CHOICES = 100;

/** One of the endpoints. With many of them it takes an id. */
export function EndpointFilter({ value, onChange }: { value: string; onChange(value: string): void }) {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'endpoint choices'],
    queryFn: () => api.endpoints.list({ perPage: MAX_CHOICES }).page(),
    staleTime: 30_000,
  });
  const known = data?.content ?? [];
  if (data?.pagination.has_next_page === true)
    return <FilterText label="Endpoint id" value={value} onChange={onChange} />;
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
