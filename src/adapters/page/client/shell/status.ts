import type { Tone } from '../../../page-parts/words/outcomes.ts'
import type { Overview } from '../../model.ts'
import type { LinkState } from '../data/link.ts'

/** How the whole of it is, in one word: what is worst counts. */
export type Status = { readonly tone: Tone; readonly text: string }

export function statusOf(link: LinkState, overview: Overview | undefined): Status {
  if (link.tag === 'lost') return { tone: 'bad', text: 'Not connected' }
  if (link.tag === 'connecting' || overview === undefined)
    return { tone: 'quiet', text: 'Connecting' }
  if (overview.halted !== null) return { tone: 'bad', text: 'Halted' }
  if (!overview.ready.ok) return { tone: 'warn', text: 'Not ready' }
  if (overview.counts.overdue > 0) return { tone: 'warn', text: 'Overdue' }
  return { tone: 'good', text: 'Ready' }
}

/** What the browser's tab says. The worst comes first, because a tab is narrow. */
export function titleOf(link: LinkState, overview: Overview | undefined): string {
  const { tone, text } = statusOf(link, overview)
  const mode = overview === undefined ? '' : ` · ${overview.mode}`
  return tone === 'good' ? `tranched${mode}` : `${text} · tranched${mode}`
}

const MARKS: Readonly<Record<Tone, string>> = {
  good: '#2fa36b',
  bad: '#d33c3c',
  warn: '#c98a12',
  busy: '#3f7fe0',
  quiet: '#7d8795',
}

/** The tab's picture: three slices, the last in the colour of the status. */
export function iconOf(tone: Tone): string {
  const slices = [
    ['2', '#8a94a3'],
    ['6.5', '#8a94a3'],
    ['11', MARKS[tone]],
  ]
  const drawn = slices.map(
    ([y, colour]) => `<rect x="1" y="${y}" width="14" height="3" fill="${colour}"/>`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${drawn.join('')}</svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
