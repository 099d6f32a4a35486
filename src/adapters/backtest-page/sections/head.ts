import type { BacktestResult, FiguresResult } from '../../../backtest/report/result.ts'
import { money, plainPercent } from '../../page-parts/words/amounts.ts'
import { durationText } from '../../page-parts/words/times.ts'
import { dayText, isoText, momentText, secondsOf } from '../both/moments.ts'
import { exactly, listed } from '../both/words.ts'
import { html, type Markup } from '../markup.ts'

/** As much as everybody can multiply with. */
const STAKE = 1_000

/** What the tab and the first heading say. */
export function titleOf({ strategies }: BacktestResult): string {
  if (strategies.length === 0) return 'Backtest'
  return `Backtest of ${listed(strategies.map(({ name }) => name))}`
}

export function headSection(result: BacktestResult): Markup {
  const { fromAt, untilAt, valueToken } = result
  const valued = valueToken === null ? 'nothing is valued' : `valued in ${valueToken}`
  return html`<header class="head">
<h1>${titleOf(result)}</h1>
<p class="period">${moment(fromAt)} to ${moment(untilAt)} UTC, ${lengthText(result)}, ${valued}</p>
${headline(result)}
</header>`
}

function moment(iso: string): Markup {
  const seconds = secondsOf(iso)
  return html`<time datetime="${iso}" title="${isoText(seconds)}">${momentText(seconds)}</time>`
}

function lengthText({ fromAt, untilAt }: BacktestResult): string {
  return durationText(Math.max(0, secondsOf(untilAt) - secondsOf(fromAt)) * 1_000)
}

function headline(result: BacktestResult): Markup {
  const { figures, valueToken } = result
  if (figures === null || valueToken === null) return unvalued(result)
  const holding = result.against.find(({ name }) => name === 'holding')
  const became = html`<strong>1,000 ${valueToken} became ${stakeAfter(figures.returnPercent)} ${valueToken}</strong>`
  if (holding === undefined) return html`<p class="headline">${became}.</p>${ends(result)}`
  const rest = html`<span class="against">Held as it was, it would have become ${stakeAfter(holding.returnPercent)} ${valueToken}.</span>`
  return html`<p class="headline">${became}${aheadText(figures, holding.returnPercent)}. ${rest}</p>${ends(result)}`
}

function stakeAfter(percent: number): string {
  return money((STAKE * (1 + percent / 100)).toFixed(2))
}

function aheadText({ returnPercent }: FiguresResult, holdingPercent: number): Markup {
  const ahead = (STAKE * (returnPercent - holdingPercent)) / 100
  const size = money(Math.abs(ahead).toFixed(2))
  if (size === '0.00') return html`, as much as holding`
  return ahead > 0
    ? html`, <span class="good">${size} more than holding</span>`
    : html`, <span class="bad">${size} less than holding</span>`
}

function ends({ begin, end, fromAt, untilAt }: BacktestResult): Markup {
  if (begin.value === null || end.value === null) return html``
  const [before, after] = [begin.value, end.value].map(
    (value) => html`<span title="${exactly(value)}">${money(value.amount)} ${value.token}</span>`,
  )
  return html`<p class="ends">${before} on ${dayText(secondsOf(fromAt))}, ${after} on ${dayText(secondsOf(untilAt))}.</p>`
}

function unvalued({ valueToken, strategies }: BacktestResult): Markup {
  const slots = strategies.reduce((sum, strategy) => sum + strategy.slots, 0)
  const filled = strategies.reduce((sum, strategy) => sum + strategy.filled, 0)
  const share = slots === 0 ? '' : ` (${plainPercent((filled / slots) * 100)})`
  const why =
    valueToken === null
      ? 'The config names no price feed, so nothing of it has a value: returns and costs are not known.'
      : 'Something that was held had no price, so the whole has no value: returns and costs are not known.'
  return html`<p class="headline"><strong>${filled} of ${slots} slots were filled${share}.</strong> <span class="against">${why}</span></p>`
}
