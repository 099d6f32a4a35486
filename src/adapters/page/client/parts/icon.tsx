/** Drawn by the page itself: nothing is loaded for them. They say nothing that does not stand beside them. */
const PATHS = {
  overview: 'M3 12.5 10 5l4 4 7-7M3 20h18',
  strategies: 'M4 6h16M4 12h10M4 18h13',
  orders: 'M12 3a9 9 0 1 0 9 9M12 7v5l3 2',
  fills: 'm4 12 5 5L20 6',
  holdings: 'M4 8h16v12H4zM4 8l3-4h10l3 4M15 14h2',
  limits: 'M4 17a8 8 0 0 1 16 0M12 17l4-6',
  close: 'M6 6l12 12M18 6 6 18',
  out: 'M9 5h10v10M19 5 6 18',
  system: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19',
  dark: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
