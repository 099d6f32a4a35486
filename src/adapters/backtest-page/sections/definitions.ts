import { html, type Markup } from '../markup.ts'

/** Every figure that has to be defined: told where one points at it, and all of them at the foot. */
export const DEFINITIONS = {
  return: [
    'Return',
    'Value of all holdings at the end against their value at the beginning, in percent. Nothing is paid in or out in between.',
  ],
  yearly: [
    'Return in a year',
    'The same return for a year at the rate of the period, compounded. It is not told of less than 30 days, from which a year cannot be inferred.',
  ],
  drawdown: [
    'Worst drawdown',
    'The deepest fall of the value from the highest value before it, in percent of that. Its duration goes from the highest value until it was reached again, or to the end. It is looked for at the moments that the curves have points for.',
  ],
  price: [
    'Average price',
    'What was paid for one token over all fills, all paid by all received, against the mean of the feed’s price over the whole period. To pay less is better. A price below 0.1 is told the other way round; then the mean is the harmonic one.',
  ],
  costs: [
    'Costs',
    'What the fills and calls cost by the model of this backtest: spread, fee of the service, the move of the price by the order itself, gas of wrapping and unwrapping, and what calls were charged.',
  ],
  turnover: ['Turnover', 'Value of all that was sold, at the prices of its time.'],
  fills: [
    'Fills',
    'Orders that were filled. Calls are counted apart. A slot may have more than one order.',
  ],
  skipped: [
    'Skipped',
    'Slots of which the strategy or a cap wanted no order, in percent of all slots. What failed, expired, was refused or missed does not count among them.',
  ],
  holding: [
    'Holding',
    'Everything that was there at the beginning is kept until the end, and nothing is traded.',
  ],
  'lump-sum': [
    'Lump sum',
    'All that the strategies sold in the end is sold at once at the beginning, at the same costs.',
  ],
  'plain-dca': [
    'Plain DCA',
    'All that the strategies sold in the end is sold in equal parts over the whole period, at the same costs.',
  ],
  cap: [
    'Cap',
    'The most that may be spent in a time that moves along: an hour, a day, a week, or ever. A full one lets no order pass.',
  ],
  against: [
    'Against market',
    'How much less was paid than at the feed’s price of that moment, in basis points (hundredths of a percent). Below zero is worse than the feed, which the spread alone explains.',
  ],
} as const satisfies Readonly<Record<string, readonly [name: string, meaning: string]>>

export type Defined = keyof typeof DEFINITIONS

/** The name of a figure, with its definition where one points at it, and a link to where it can be read. */
export function defined(key: Defined): Markup {
  const [name, meaning] = DEFINITIONS[key]
  return html`<a class="defined" href="#means-${key}" title="${meaning}">${name}</a>`
}

export function definitionsSection(): Markup {
  return html`<section id="definitions" aria-labelledby="definitions-title">
<h2 id="definitions-title">Definitions</h2>
<dl class="definitions">${Object.entries(DEFINITIONS).map(
    ([key, [name, meaning]]) =>
      html`<div id="means-${key}"><dt>${name}</dt><dd>${meaning}</dd></div>`,
  )}</dl>
</section>`
}
