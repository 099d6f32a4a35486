import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { METRIC_NAMES } from '../../../../src/backtest/report/expect.ts'
import { ROOT, run } from '../../../support/process/cli.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

const TEXT = readFileSync(join(ROOT, 'docs/backtest.md'), 'utf8')

/** The first block of a language. */
function block(language: string): string {
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(TEXT)?.[1] ?? ''
}

test('the example of the documents comes to the very lines that they show', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  mkdirSync(join(dir, 'strategies/sandbox'), { recursive: true })
  const config = readFileSync(join(ROOT, 'config/sandbox.yaml'), 'utf8')
  writeFileSync(join(dir, 'config/sandbox.yaml'), config)
  writeFileSync(join(dir, 'strategies/sandbox/weekly.yaml'), block('yaml'))
  const words = [...block('sh').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word,
  )
  const [program, ...args] = words as readonly string[]
  expect(program).toBe('tranched')
  const { code, stdout } = await run(args, { cwd: dir })
  expect(stdout).toBe(block('text'))
  expect(code).toBe(1)
})

test('every figure that can be expected is named', () => {
  for (const name of METRIC_NAMES) expect(TEXT).toContain(`\`${name}\``)
})
