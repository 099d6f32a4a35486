import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import type { ModuleView } from '../../../../src/domain/module.ts'
import type { View } from '../../../../strategies/modules/tranched.d.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { initFor } from './init-fixture.ts'

const COMPILERS = ['typescript', 'typescript-7'].map((name) =>
  resolve('node_modules', name, 'bin/tsc'),
)

/** A folder that init made, and what a compiler says of its modules by their own `jsconfig.json`. */
async function modulesFolder() {
  const dir = temporaryDirectory()
  await initFor({ dir })
  const modules = join(dir, 'strategies/modules')
  const complaintsOf = (compiler: string): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', 'jsconfig.json'], {
      cwd: modules,
    })
    return `${stdout}${stderr}`
  }
  return { dir, modules, complaintsOf }
}

test('the example module is right by the types beside it, with zod’s own types or without', async () => {
  const { dir, complaintsOf } = await modulesFolder()
  for (const compiler of COMPILERS) expect(complaintsOf(compiler)).toBe('')
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  for (const compiler of COMPILERS) expect(complaintsOf(compiler)).toBe('')
})

test.each([
  ["sell: 'USDC'", "sell: 'DAI'", /'"DAI"' is not assignable to type 'Tokens'/],
  ['if (price === undefined)', 'if (price === null)', /'price' is possibly 'undefined'/],
  ['}], memory }', '}], memoryOnFil: memory }', /'memoryOnFil' does not exist|memoryOnFill/],
  ["return { skip: 'no price of WETH' }", "return { skip: 'no', orders: [] }", /not assignable/],
  ['amount }]', 'amount: 20 }]', /'number' is not assignable to type 'bigint'/],
  ['view.balances.USDC', 'view.balances.DAI', /'DAI' does not exist/],
  ['const price', "fetch('https://example.com')\n  const price", /Cannot find name 'fetch'/],
])('a module with %j as %j is marked by them', async (right, wrong, complaint) => {
  const { modules, complaintsOf } = await modulesFolder()
  const file = join(modules, 'buy-below-average.mjs')
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(right)
  writeFileSync(file, text.replace(right, wrong))
  expect(complaintsOf(COMPILERS[1] ?? '')).toMatch(complaint)
})

test('a params schema of zod that makes something else than the module says is marked', async () => {
  const { dir, modules, complaintsOf } = await modulesFolder()
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  const file = join(modules, 'buy-below-average.mjs')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('z.coerce.number().min(0)', 'z.string().min(0)'))
  expect(complaintsOf(COMPILERS[1] ?? '')).toMatch(/not assignable to type 'Schema<Params>'/)
})

/** Compiled, never run: what the daemon gives is what the types say, and nothing is missing there or here. */
type Given = ModuleView & { readonly params: unknown }
const given: (view: Given) => View = (view) => view
const named: Readonly<Record<keyof View, true>> & Readonly<Record<keyof Given, true>> = {
  ...{ slotSeconds: true, nowSeconds: true, params: true },
  ...{ balances: true, prices: true, memory: true },
}

test('the types name every field of a view', () => {
  const view = { slotSeconds: 1, nowSeconds: 2, params: {}, balances: {}, prices: {}, memory: {} }
  expect(Object.keys(named)).toEqual(Object.keys(given(view)))
})
