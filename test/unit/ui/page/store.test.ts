import { expect, test } from 'vitest'
import type { Daemon } from '../../../../src/ui/page/client/data/daemon-requests.ts'
import { Store } from '../../../../src/ui/page/client/data/store.ts'
import type { Overview } from '../../../../src/ui/page/model.ts'
import { PageWorld } from '../../../support/page/page-world.ts'

const SMALL = { strategies: 3, fills: 250, orders: 2 }

function daemonOf(world: PageWorld, part: Partial<Daemon> = {}): Daemon {
  return {
    overview: async () => world.overview(),
    strategies: async () => [...world.strategies()],
    fills: async ({ limit, before, strategy }) =>
      world.fills({ limit, before: before ?? null, strategy: strategy ?? null }),
    holdings: async (range) => world.holdings(range),
    ...part,
  }
}

async function loaded(world: PageWorld, part: Partial<Daemon> = {}): Promise<Store> {
  const store = new Store(daemonOf(world, part), () => 0)
  await store.refresh()
  store.setLink({ tag: 'live' })
  return store
}

test('a change replaces the overview and the named rows, and adds its fills on top', async () => {
  const world = new PageWorld(SMALL)
  const store = await loaded(world)
  const change = world.tick()
  store.take(change)
  expect(store.overview?.revision).toBe(change.overview.revision)
  expect(store.strategies.get(change.strategies[0]?.name ?? '')).toBe(change.strategies[0])
  expect(store.fills.loaded.at(0)).toBe(change.fills[0])
  expect(store.fresh).toEqual(new Set([change.fills[0]?.intentId]))
})

test('a change during a refresh is not overwritten by older responses', async () => {
  const world = new PageWorld(SMALL)
  let answer = (_: Overview) => {}
  const late = new Promise<Overview>((resolve) => {
    answer = resolve
  })
  const store = new Store(daemonOf(world, { overview: () => late }), () => 0)
  const before = world.overview()
  const refreshed = store.refresh()
  const change = world.tick()
  store.take(change)
  answer(before)
  await refreshed
  expect(store.overview?.revision).toBe(change.overview.revision)
  expect(store.fills.loaded.at(0)?.intentId).toBe(change.fills[0]?.intentId)
})

test('a delayed change does not overwrite newer responses', async () => {
  const world = new PageWorld(SMALL)
  const old = world.tick()
  world.tick()
  const store = await loaded(world)
  const { revision } = world.overview()
  store.take(old)
  expect(store.overview?.revision).toBe(revision)
})

test('a restarted daemon replaces all data of the previous daemon', async () => {
  const first = new PageWorld(SMALL)
  const second = new PageWorld({ ...SMALL, seed: 'another', fills: 4 })
  second.change({ startedAtMs: 5 })
  let world = first
  const store = await loaded(first, {
    overview: async () => world.overview(),
    fills: async ({ limit }) => world.fills({ limit, before: null, strategy: null }),
  })
  expect(store.fills.loaded.size).toBe(100)
  world = second
  await store.refresh()
  expect(store.fills.loaded.size).toBe(4)
})

test('a failed refresh keeps the known data', async () => {
  const world = new PageWorld(SMALL)
  let fails = false
  const store = await loaded(world, {
    strategies: async () => {
      if (fails) throw new Error('The daemon does not answer.')
      return [...world.strategies()]
    },
  })
  fails = true
  await expect(store.refresh()).rejects.toThrow()
  expect(store.strategies.size).toBe(3)
  store.take(world.tick())
  expect(store.overview?.revision).toBe(2)
})

test('older fills load in growing pages without a gap, to the end', async () => {
  const world = new PageWorld(SMALL)
  const limits: number[] = []
  const store = await loaded(world, {
    fills: async ({ limit, before }) => {
      limits.push(limit)
      return world.fills({ limit, before: before ?? null, strategy: null })
    },
  })
  for (let page = 0; page < 6; page += 1) await store.loadOlder(store.fills)
  expect(limits).toEqual([100, 100, 200])
  const all = world.fills({ limit: 1_000, before: null, strategy: null }).fills
  expect(Array.from(all, (_, index) => store.fills.loaded.at(index))).toEqual(all)
  expect(store.fills.loaded.next).toBeNull()
})

test('a failed page is reported and can be requested again', async () => {
  const world = new PageWorld(SMALL)
  const store = await loaded(world)
  const broken = new Store(
    daemonOf(world, { fills: () => Promise.reject(new Error('The daemon does not answer.')) }),
    () => 0,
  )
  await broken.loadOlder(broken.fills)
  expect(broken.fills).toMatchObject({ loading: false, problem: 'The daemon does not answer.' })
  await store.loadOlder(store.fills)
  expect(store.fills.problem).toBeUndefined()
})

test('the list of one strategy adds only its own fills', async () => {
  const world = new PageWorld(SMALL)
  const store = await loaded(world)
  store.chooseFills('slices')
  store.chooseFills('weekly-eth')
  await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  const list = store.chosenFills ?? expect.fail('no list')
  const before = list.loaded.size
  const change = world.tick(20)
  store.take(change)
  const own = change.fills.filter(({ strategy }) => strategy === 'weekly-eth')
  expect(own.length).toBeGreaterThan(0)
  expect(list.loaded.size).toBe(before + own.length)
  expect(list.loaded.at(0)).toBe(own[0])
})

test("times follow the daemon's clock, even if the local clock is wrong", async () => {
  const world = new PageWorld(SMALL)
  const store = await loaded(world)
  expect(store.daemonNow()).toBe(store.overview?.atMs)
  expect(store.byDaemon(-1_000)).toBe((store.overview?.atMs ?? 0) - 1_000)
})

test('a halt is announced at once, and fills at most every fifteen seconds', async () => {
  const world = new PageWorld(SMALL)
  let nowMs = 0
  const store = new Store(daemonOf(world), () => nowMs)
  await store.refresh()
  const announcements: string[] = []
  const take = (change: ReturnType<PageWorld['tick']>) => {
    store.take(change)
    if (announcements.at(-1) !== store.announcement) announcements.push(store.announcement)
  }
  for (nowMs = 0; nowMs < 29_000; nowMs += 1_000) take(world.tick())
  expect(announcements).toHaveLength(2)
  expect(announcements[1]).toMatch(/^15 fills\. The last: /)
  take(world.change({ halted: { sinceMs: 1, cause: 'operator', detail: 'by hand' } }))
  expect(announcements.at(-1)).toBe('Halted: operator. by hand')
})

test('a change that may miss fills triggers a request for the newest', async () => {
  const world = new PageWorld(SMALL)
  const store = await loaded(world)
  const change = world.tick(150)
  store.take({ ...change, fills: change.fills.slice(0, 100) })
  await new Promise((resolve) => setImmediate(resolve))
  const { fills } = world.fills({ limit: 100, before: null, strategy: null })
  expect(Array.from(fills, (_, index) => store.fills.loaded.at(index))).toEqual(fills)
  expect(store.fills.loaded.next).toBe(fills.at(-1)?.intentId)
})

test('a change during that request hides no gap', async () => {
  const world = new PageWorld(SMALL)
  const store = await loaded(world)
  const many = world.tick(150)
  store.take({ ...many, fills: many.fills.slice(0, 100) })
  store.take(world.tick())
  await new Promise((resolve) => setImmediate(resolve))
  const { fills } = world.fills({ limit: store.fills.loaded.size, before: null, strategy: null })
  expect(Array.from(fills, (_, index) => store.fills.loaded.at(index))).toEqual(fills)
})
