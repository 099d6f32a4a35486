import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CHECK_IDS, SECTIONS } from '../../../../src/cli/commands/doctor/check.ts'
import { ROOT } from '../../../support/process/cli.ts'

const DOCS = readFileSync(join(ROOT, 'docs/doctor.md'), 'utf8')

test('the docs list every check in its order, and nothing else', () => {
  const [, checks = ''] = DOCS.split('## The checks')
  const documented = [...checks.matchAll(/^\| `([a-z\d-]+)` \|/gm)].map(([, id]) => id)
  expect(documented).toEqual(CHECK_IDS)
})

test('the docs list every section in its order', () => {
  const headings = [...DOCS.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(headings).toEqual(SECTIONS)
})
