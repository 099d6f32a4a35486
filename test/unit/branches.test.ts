import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'

const REGISTRIES = {
  'src/strategies/registry.ts': 'const FILE_KINDS = { dca, twap, call, custom }',
  'src/venues/projections.ts':
    'const PROJECTIONS = { gasless: A, aggregated: B } as const satisfies T',
}
const trees: string[] = []
afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true })
})

/** The errors of the check for a tree of these files, one per line; empty if it passes. */
function errorsFor(files: Readonly<Record<string, string>>): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), 'tranched-branches-'))
  trees.push(root)
  for (const [file, text] of Object.entries({ ...REGISTRIES, ...files })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  const { status, stderr } = spawnSync('node', ['scripts/branches.mjs', '--root', root], {
    encoding: 'utf8',
  })
  expect(status).toBe(stderr === '' ? 0 : 1)
  return stderr.split('\n').filter((line) => line !== '')
}

test("code outside the kinds must not branch on a kind's name in any form", () => {
  const planted = [
    "strategy.kind === 'dca'",
    "strategy?.kind !== 'call'",
    "'twap' == kind",
    "label === 'twap'",
    "switch (strategy.kind) { case 'custom': break }",
    "TABLE['dca']",
    '({ dca: 1, twap: 2 })',
    "['call', 'custom'].includes(kind)",
    "new Map([['dca', 1], ['call', 2]])",
  ]
  const lines = errorsFor({ 'src/engine/tick.ts': planted.join(';\n') })
  expect(lines).toEqual(
    planted.map((_, index) =>
      expect.stringContaining(`src/engine/tick.ts:${index + 1}: branches on a kind of strategy: `),
    ),
  )
})

test("code outside the venues must not branch on a venue's name", () => {
  const text =
    "if (intent.venue === 'gasless' || via !== 'direct') record({ gasless: 1, aggregated: 2 })"
  const lines = errorsFor({ 'src/venues/ledger.ts': text, 'src/strategies/dca/dca-kind.ts': text })
  expect(lines).toHaveLength(3)
  for (const line of lines) expect(line).toContain('dca-kind.ts:1: branches on a venue: ')
})

test('the same keywords in other contexts are no branches', () => {
  const text = [
    "if (tx.type === 'call' || issue.code === 'custom' || route === 'direct') go()",
    "switch (tx.type) { case 'call': go() }",
    "const dca = { kind: 'dca', venue: 'gasless' }",
    'const settings = { gasless: 1, aggregator: 2 }',
    "import { twap } from './twap/twap-kind.ts'",
  ]
  const files = { 'src/engine/tick.ts': text.join('\n'), 'src/strategies/dca.ts': "kind === 'dca'" }
  expect(errorsFor(files)).toEqual([])
})
