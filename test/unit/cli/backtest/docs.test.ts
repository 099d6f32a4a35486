import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { METRIC_NAMES } from '../../../../src/backtest/report/expect.ts'
import { ROOT, run } from '../../../support/process/cli.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

const TEXT = readFileSync(join(ROOT, 'docs/backtest.md'), 'utf8')

/** The first code block in a language. */
function block(language: string): string {
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(TEXT)?.[1] ?? ''
}

test('the documented example prints exactly the documented output', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  mkdirSync(join(dir, 'strategies/sandbox'), { recursive: true })
  const config = readFileSync(join(ROOT, 'config/sandbox.yaml'), 'utf8')
  writeFileSync(join(dir, 'config/sandbox.yaml'), config)
  writeFileSync(join(dir, 'strategies/sandbox/weekly.yaml'), block('yaml'))
  const parts = [...block('sh').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word,
  )
  const [program, ...args] = parts as readonly string[]
  expect(program).toBe('tranched')
  const { code, stdout } = await run(args, { cwd: dir })
  expect(stdout).toBe(block('text'))
  expect(code).toBe(1)
})

test('the docs name every metric that can be expected', () => {
  for (const name of METRIC_NAMES) expect(TEXT).toContain(`\`${name}\``)
})
