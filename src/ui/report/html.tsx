import { createHash } from 'node:crypto'
import { renderToString } from 'preact-render-to-string'
import type { BacktestResult } from '../../backtest/report/result.ts'
import { REASONS } from '../../domain/order/reason.ts'
import { encodeData, type PageData, pageDataOf } from './data/page-data.ts'
import { Report, titleOf } from './view/report.tsx'

/** Marks a file as a report, which the next report may replace. */
export const REPORT_MARKER = '<meta name="generator" content="tranched backtest">'

type PageAssets = {
  readonly script: string
  readonly style: string
  readonly version: string
}

/**
 * A backtest's report as one HTML file that loads nothing else, so that it can be opened from a disk, sent and kept. It is
 * readable without its script; curves, filters and further rows need it. All text of the result is escaped, and the page's
 * policy runs only its own script. Throws if a built file would end its own element.
 */
export function backtestHtml(result: BacktestResult, assets: PageAssets): string {
  const { script, style, version } = assets
  requireWhole(script, 'script')
  requireWhole(style, 'style')
  const data = pageDataOf(result, meaningsOf(result))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${REPORT_MARKER}
${renderToString(<Meta title={`${titleOf(result)}, ${data.period}`} policy={policyOf(assets)} />)}
<style>${style}</style>
</head>
<body>
${renderToString(<Report result={result} data={data} version={version} />)}
<script type="application/json" id="data">${dataText(data)}</script>
<script>${script}</script>
</body>
</html>
`
}

function Meta({ title, policy }: { title: string; policy: string }) {
  return (
    <>
      <meta http-equiv="content-security-policy" content={policy} />
      <title>{title}</title>
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="referrer" content="no-referrer" />
      <meta name="robots" content="noindex" />
      <link rel="icon" href="data:," />
    </>
  )
}

/** Escapes `<`, so that the data cannot end its block or begin a comment. */
function dataText(data: PageData): string {
  return encodeData(data).replaceAll('<', '\\u003c')
}

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
    throw new Error(`the built ${element} of the page contains its own closing tag or a comment`)
}

function meaningsOf({ slots, strategies }: BacktestResult): PageData['meanings'] {
  const ended = [...slots, ...strategies.flatMap(({ outcomes }) => outcomes)]
  const occurring = new Set(ended.map(({ reason }) => reason))
  const known = Object.entries(REASONS).filter(([reason]) => occurring.has(reason))
  return Object.fromEntries(known.map(([reason, [means]]) => [reason, means]))
}
