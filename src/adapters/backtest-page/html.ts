import { createHash } from 'node:crypto'
import type { BacktestResult } from '../../backtest/report/result.ts'
import { REASONS } from '../../domain/reason-words.ts'
import { type PageData, pageDataOf } from './both/data.ts'
import { dayText, secondsOf } from './both/moments.ts'
import { html, jsonMarkup, type Markup } from './markup.ts'
import { assumptionsSection } from './sections/assumptions.ts'
import { chartsSection } from './sections/charts.ts'
import { definitionsSection } from './sections/definitions.ts'
import { figuresSection } from './sections/figures.ts'
import { headSection, titleOf } from './sections/head.ts'
import { fillsSection, slotsSection } from './sections/rows.ts'
import { strategiesSection } from './sections/strategies.ts'
import { sweepSection } from './sections/sweep.ts'

/** Tells a report from every other file: such a one may be replaced by the next. */
export const REPORT_MARKER = '<meta name="generator" content="tranched backtest">'
const MARKER: Markup = { markup: REPORT_MARKER }

/** What the build made for the page. */
export type PageAssets = {
  readonly script: string
  readonly style: string
  /** Of the program, for the foot of the page. */
  readonly version: string
}

/**
 * The report of a backtest as one HTML file that asks for nothing else: it can be opened from a disk, sent and kept. What is
 * in it can be read without its script; curves, filters and further rows need that. Nothing of the result is taken for markup, and
 * the policy of the page lets nothing run but its own script. Throws where a built file would end its own element.
 */
export function backtestHtml(result: BacktestResult, assets: PageAssets): string {
  const { script, style, version } = assets
  requireWhole(script, 'script')
  requireWhole(style, 'style')
  const meanings = meaningsOf(result)
  const data = pageDataOf(result, meanings)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${MARKER}
<meta http-equiv="content-security-policy" content="${policyOf(assets)}">
<title>${titleOf(result)}, ${periodText(result)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<style>${{ markup: style }}</style>
</head>
<body>
<a class="skip-link" href="#figures">To the key figures</a>
<main>
${headSection(result)}
${contents(data)}
${figuresSection(result)}
${sweepSection(data.sweep)}
${chartsSection(data, periodText(result))}
${strategiesSection(result, meanings)}
${slotsSection(result, data)}
${fillsSection(result, data)}
${assumptionsSection(result)}
${notesSection(result)}
${definitionsSection()}
</main>
<footer>Made by tranched ${version}. Times are UTC. A backtest tells what would have been, not what will be.</footer>
<script type="application/json" id="data">${jsonMarkup(data)}</script>
<script>${{ markup: script }}</script>
</body>
</html>
`
  return page.markup
}

/** Nothing is loaded, and nothing runs or is styled but what was built. */
function policyOf({ script, style }: PageAssets): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function requireWhole(text: string, element: 'script' | 'style'): void {
  if (new RegExp(`</${element}|<!--`, 'i').test(text))
    throw new Error(`the built ${element} of the page holds what would end it`)
}

function periodText({ fromAt, untilAt }: BacktestResult): string {
  return `${dayText(secondsOf(fromAt))} to ${dayText(secondsOf(untilAt))}`
}

/** What each reason that occurs means. */
function meaningsOf({ slots, strategies }: BacktestResult): Readonly<Record<string, string>> {
  const words: Readonly<Record<string, readonly [means: string, change: string]>> = REASONS
  const occurring = [...slots, ...strategies.flatMap(({ outcomes }) => outcomes)]
  const meanings = [...new Set(occurring.map(({ reason }) => reason))].flatMap((reason) => {
    const means = Object.hasOwn(words, reason) ? words[reason]?.[0] : undefined
    return means === undefined ? [] : [[reason, means] as const]
  })
  return Object.fromEntries(meanings)
}

function contents({ sweep }: PageData): Markup {
  const parts = [
    ['figures', 'Key figures'],
    ...(sweep === null ? [] : [['sweep', 'Sweep']]),
    ['charts', 'Over time'],
    ['strategies', 'Strategies'],
    ['slots', 'Slots'],
    ['fills', 'Fills'],
    ['model', 'Model'],
    ['notes', 'Notes'],
    ['definitions', 'Definitions'],
  ]
  return html`<nav class="contents" aria-label="Parts of the report"><ul>${parts.map(
    ([id, title]) => html`<li><a href="#${id}">${title}</a></li>`,
  )}</ul></nav>`
}

function notesSection({ notes }: BacktestResult): Markup {
  return html`<section id="notes" aria-labelledby="notes-title">
<h2 id="notes-title">Notes</h2>
${notes.length === 0 ? html`<p class="empty">There is nothing to add.</p>` : html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}
</section>`
}
