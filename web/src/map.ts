/** The map: land, graticule, the areas of a release and its flows. All of it comes from the release; no tiles. */

import type {Layer} from '@deck.gl/core';
import {Deck, MapView, WebMercatorViewport, log} from '@deck.gl/core';
import {PathLayer, PolygonLayer, SolidPolygonLayer} from '@deck.gl/layers';
import {FlowmapLayer} from '@flowmap.gl/layers';
import {log as deviceLog} from '@luma.gl/core';
import {h, put} from './dom';
import {count, meters} from './format';
import {isDark} from './theme';
import type {Area, Picture, Position} from './types';

export interface View {
  longitude: number;
  latitude: number;
  zoom: number;
}

export type Direction = 'both' | 'leaving' | 'arriving';

export interface Flow {
  origin: string;
  destination: string;
  trips: number;
  persons: number | null;
  error: number | null; // of noise
}

interface Picked {
  object?: {
    type: 'location' | 'flow';
    id?: string;
    flow?: Flow;
    origin?: Area;
    dest?: Area;
    count?: number;
    location?: Area;
    totals?: {incomingCount: number; outgoingCount: number; internalCount: number};
  };
  x: number;
  y: number;
}

type Color = [number, number, number] | [number, number, number, number];

const MOST_LINES = 2500;
const LIGHT = {
  water: [226, 233, 238] as Color,
  land: [248, 248, 245] as Color,
  coast: [190, 201, 209] as Color,
  graticule: [120, 135, 148, 46] as Color,
  outline: [30, 64, 88, 48] as Color,
  flows: ['#d9e8f0', '#a9cfe2', '#6badd0', '#3283b5', '#0c5a8c', '#06365a'],
  mark: [213, 94, 0] as Color,
};
const DARK = {
  water: [13, 19, 26] as Color,
  land: [24, 33, 42] as Color,
  coast: [62, 78, 92] as Color,
  graticule: [150, 170, 190, 30] as Color,
  outline: [150, 190, 215, 50] as Color,
  flows: ['#1c3445', '#24597a', '#2f82ad', '#56acd6', '#97d2f0', '#e2f4ff'],
  mark: [240, 165, 58] as Color,
};

// Their warnings are for those who write layers. Errors still come: see onError.
log.enable(false);
deviceLog.enable(false);

const canDraw = document.createElement('canvas').getContext('webgl2') !== null;

export class FlowMap {
  readonly element: HTMLElement;
  private readonly canvas = h('div', {class: 'canvas'});
  private readonly tip = h('div', {class: 'tip', hidden: true, role: 'status'});
  private readonly scale = h('div', {class: 'scale', 'aria-hidden': 'true'});
  private deck: Deck<MapView> | null = null;
  private picture: Picture | null = null;
  private locations: Area[] = [];
  private flows: Flow[] = [];
  // Kept so that layers see the same objects until the release changes: they would count all flows again.
  private data: {locations: Area[]; flows: Flow[]} = {locations: [], flows: []};
  private land: {ring: Position[]; hole: boolean}[] = [];
  private lines: Position[][] = [];
  private shapes: {area: Area; polygon: Position[][]}[] = [];
  private view: View = {longitude: 0, latitude: 0, zoom: 1};
  private selected: string | null = null;
  private hovered: Area[] = [];
  private direction: Direction = 'both';
  private outlines = true;
  private fitted = true;
  amount = 'trips'; // what is counted
  onView: (view: View) => void = () => undefined;
  onSelect: (area: string | null) => void = () => undefined;

  constructor(label: string) {
    const button = (text: string, name: string, act: () => void) =>
      h('button', {type: 'button', class: 'map-button', title: name, 'aria-label': name, onclick: act}, text);
    this.element = h(
      'div',
      {class: 'map', role: 'region', 'aria-label': label},
      this.canvas,
      h(
        'div',
        {class: 'map-buttons'},
        button('+', 'Closer', () => this.zoom(1)),
        button('−', 'Further away', () => this.zoom(-1)),
        button('⤢', 'Whole release', () => this.fit()),
      ),
      h('div', {class: 'map-foot'}, h('span', {class: 'north', title: 'North is up'}, 'N ↑'), this.scale),
      this.tip,
    );
    if (canDraw) {
      new ResizeObserver(() => {
        this.measure();
        this.fitOnce();
      }).observe(this.canvas);
    } else {
      this.canvas.append(
        h('p', {class: 'no-map'}, 'This browser cannot draw maps: it has no WebGL 2. The list of flows, all figures and the download work without.'),
      );
    }
  }

  /** Show a release, or one step of time or group of it; the view stays if there was one. */
  show(picture: Picture, division: number | null = null): void {
    const first = this.picture === null;
    this.picture = picture;
    this.selected = null;
    this.hovered = [];
    this.locations = picture.areas.filter((area) => area.lon !== null && area.lat !== null);
    const placed = new Set(this.locations.map((area) => area.id));
    this.flows = flowsOf(picture, division).filter((flow) => placed.has(flow.origin) && placed.has(flow.destination));
    this.data = {locations: this.locations, flows: this.flows};
    this.land = picture.land.map((ring) => ({ring, hole: isHole(ring)}));
    this.lines = graticule(picture.extent);
    this.shapes = this.locations.flatMap((area) => area.shape.map((polygon) => ({area, polygon})));
    if (first) this.fitted = false;
    requestAnimationFrame(() => this.fitOnce());
    this.draw();
  }

  setView(view: View): void {
    this.view = view;
    this.deck?.setProps({viewState: {...view}});
    this.measure();
  }

  select(area: string | null, direction: Direction): void {
    this.selected = area;
    this.direction = direction;
    this.draw();
  }

  showOutlines(wanted: boolean): void {
    this.outlines = wanted;
    this.draw();
  }

  /** Mark areas, as when the pointer is on a row of the list. */
  mark(ids: string[]): void {
    this.hovered = this.locations.filter((area) => ids.includes(area.id));
    this.draw();
  }

  draw(): void {
    if (!this.picture || !canDraw) return;
    if (!this.deck) {
      this.deck = new Deck<MapView>({
        parent: this.canvas as HTMLDivElement,
        views: new MapView({repeat: false}),
        touchAction: matchMedia('(pointer: coarse)').matches ? 'pan-y' : 'none', // a finger that goes down scrolls the page
        controller: {dragRotate: false, touchRotate: false, keyboard: true},
        viewState: {...this.view},
        onError: (error) => console.error(error),
        onViewStateChange: ({viewState}) => {
          const {longitude, latitude, zoom} = viewState as unknown as View;
          this.setView({longitude, latitude, zoom});
          this.onView(this.view);
        },
        onClick: (info) => {
          if (!info.picked) this.onSelect(null);
        },
      });
    }
    this.deck.setProps({layers: this.layers(this.picture)});
  }

  /** Fit as soon as there is room: a map may be filled while its step is hidden. */
  private fitOnce(): void {
    if (this.fitted || !this.picture || !this.canvas.clientWidth) return;
    this.fitted = true;
    this.fit();
  }

  /** Look at nearly all trips: a few far ones would make the rest small. */
  fit(): void {
    const {clientWidth: width, clientHeight: height} = this.canvas;
    if (!this.picture || !width || !height) return;
    const [west, south, east, north] = this.bulk();
    const {longitude, latitude, zoom} = new WebMercatorViewport({width, height}).fitBounds(
      [
        [west, south],
        [east, north],
      ],
      {padding: Math.min(48, width / 10, height / 10)},
    );
    this.setView({longitude, latitude, zoom: Math.min(zoom, 15)});
    this.onView(this.view);
  }

  private zoom(step: number): void {
    this.setView({...this.view, zoom: this.view.zoom + step});
    this.onView(this.view);
  }

  private bulk(): [number, number, number, number] {
    const place = new Map(this.locations.map((area) => [area.id, area]));
    const ends = this.flows.flatMap((flow) =>
      [flow.origin, flow.destination].map((id) => ({area: place.get(id), trips: flow.trips})),
    );
    const total = ends.reduce((sum, end) => sum + end.trips, 0);
    if (!total || !this.picture) return this.picture?.extent ?? [-180, -60, 180, 75];
    const range = (value: (area: Area) => number): [number, number] => {
      const sorted = ends.flatMap(({area, trips}) => (area ? [{at: value(area), trips}] : []));
      sorted.sort((one, two) => one.at - two.at);
      const quantile = (share: number) => {
        let seen = 0;
        return sorted.find((end) => (seen += end.trips) >= share * total)?.at ?? 0;
      };
      const [low, high] = [quantile(0.005), quantile(0.995)];
      const room = Math.max((high - low) * 0.06, 0.005);
      return [low - room, high + room];
    };
    const [west, east] = range((area) => area.lon ?? 0);
    const [south, north] = range((area) => area.lat ?? 0);
    return [west, south, east, north];
  }

  private layers(picture: Picture): Layer[] {
    const colors = isDark() ? DARK : LIGHT;
    const marked = this.selected ? this.locations.filter((area) => area.id === this.selected) : this.hovered;
    const [west, south, east, north] = frame(picture.extent);
    return [
      new SolidPolygonLayer({
        id: 'water',
        data: [{polygon: [[west, south], [east, south], [east, north], [west, north]] as Position[]}],
        getPolygon: (one: {polygon: Position[]}) => one.polygon,
        getFillColor: colors.water,
      }),
      new PolygonLayer({
        id: 'land',
        data: this.land,
        getPolygon: (one: {ring: Position[]}) => one.ring,
        getFillColor: (one: {hole: boolean}) => (one.hole ? colors.water : colors.land),
        getLineColor: colors.coast,
        getLineWidth: 1,
        lineWidthUnits: 'pixels',
        updateTriggers: {getFillColor: [isDark()]},
      }),
      new PathLayer({
        id: 'graticule',
        data: this.lines,
        getPath: (path: Position[]) => path,
        getColor: colors.graticule,
        getWidth: 1,
        widthUnits: 'pixels',
      }),
      new PolygonLayer({
        id: 'outlines',
        visible: this.outlines,
        data: this.shapes,
        getPolygon: (one: {polygon: Position[][]}) => one.polygon,
        filled: false,
        getLineColor: colors.outline,
        getLineWidth: 1,
        lineWidthUnits: 'pixels',
      }),
      new PolygonLayer({
        id: 'marked',
        data: this.shapes.filter(({area}) => marked.includes(area)),
        getPolygon: (one: {polygon: Position[][]}) => one.polygon,
        getFillColor: [...colors.mark.slice(0, 3), 38] as Color,
        getLineColor: colors.mark,
        getLineWidth: 2,
        lineWidthUnits: 'pixels',
      }),
      new FlowmapLayer<Area, Flow>({
        id: 'flows',
        data: this.data,
        getLocationId: (area: Area) => area.id,
        getLocationLat: (area: Area) => area.lat ?? 0,
        getLocationLon: (area: Area) => area.lon ?? 0,
        getLocationName: (area: Area) => area.id,
        getFlowOriginId: (flow: Flow) => flow.origin,
        getFlowDestId: (flow: Flow) => flow.destination,
        getFlowMagnitude: (flow: Flow) => flow.trips,
        filter: {
          selectedLocations: this.selected ? [this.selected] : undefined,
          locationFilterMode: {both: 'ALL', leaving: 'OUTGOING', arriving: 'INCOMING'}[this.direction] as never,
        },
        darkMode: isDark(),
        colorScheme: colors.flows,
        highlightColor: `rgb(${colors.mark.slice(0, 3).join(',')})`,
        clusteringEnabled: false, // it loses places that share their middle, as an H3 cell and its middle child do
        fadeEnabled: true,
        fadeOpacityEnabled: true,
        fadeAmount: 35,
        adaptiveScalesEnabled: true,
        locationTotalsEnabled: true,
        locationLabelsEnabled: false,
        flowLinesRenderingMode: 'curved',
        maxTopFlowsDisplayNum: MOST_LINES,
        pickable: true,
        onHover: ((info: Picked | undefined) => this.hover(info)) as never,
        onClick: ((info: Picked) => this.click(info)) as never,
      }),
    ];
  }

  private hover(info: Picked | undefined): void {
    const object = info?.object;
    this.tip.hidden = !object;
    const ids = object?.type === 'flow' ? [object.origin?.id, object.dest?.id] : [object?.location?.id];
    const areas = this.locations.filter((area) => ids.includes(area.id));
    if (areas.length !== this.hovered.length || areas.some((area, place) => area !== this.hovered[place])) {
      this.hovered = areas;
      this.draw();
    }
    if (!info || !object) return;
    const line = (name: string, value: string) => h('div', {}, h('span', {}, name), h('b', {}, value));
    if (object.type === 'flow') {
      put(
        this.tip,
        h('code', {}, object.origin?.id ?? ''),
        h('span', {class: 'arrow'}, '→'),
        h('code', {}, object.dest?.id ?? ''),
        line(this.amount, `${count(object.count)}${object.flow?.error ? ` ± ${count(object.flow.error)}` : ''}`),
        object.flow?.persons ? line('persons', count(object.flow.persons)) : null,
      );
    } else {
      const totals = object.totals;
      put(
        this.tip,
        h('code', {}, object.location?.id ?? ''),
        object.location?.tiles ? line('tiles', count(object.location.tiles)) : null,
        line('leaving', count((totals?.outgoingCount ?? 0) + (totals?.internalCount ?? 0))),
        line('arriving', count((totals?.incomingCount ?? 0) + (totals?.internalCount ?? 0))),
      );
    }
    const room = this.element.clientWidth - this.tip.offsetWidth - 16;
    this.tip.style.left = `${Math.max(8, Math.min(info.x + 14, room))}px`;
    this.tip.style.top = `${Math.max(8, Math.min(info.y + 14, this.element.clientHeight - this.tip.offsetHeight - 8))}px`;
  }

  private click(info: Picked): void {
    const object = info.object;
    if (object?.type !== 'location') return;
    const area = object.location?.id ?? null;
    this.onSelect(area === this.selected ? null : area);
  }

  private measure(): void {
    const perPixel = (156543.034 * Math.cos((this.view.latitude * Math.PI) / 180)) / 2 ** (this.view.zoom + 1);
    const most = perPixel * 110;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((step) => step * power).find((step) => step <= most) ?? power;
    this.scale.style.width = `${length / perPixel}px`;
    put(this.scale, meters(length));
  }
}

/** Return the flows of one division, or of all together, the strongest first; persons of several do not add up. */
export function flowsOf(picture: Picture, division: number | null): Flow[] {
  const joined = new Map<string, Flow>();
  const apart = division !== null || picture.division === null;
  picture.trips.forEach((trips, row) => {
    const own = picture.division?.[row];
    if (division === null ? own !== undefined && picture.totals.includes(own) : own !== division) return;
    const origin = picture.areas[picture.origin[row] ?? -1]?.id ?? '';
    const destination = picture.areas[picture.destination[row] ?? -1]?.id ?? '';
    const key = `${picture.origin[row]},${picture.destination[row]}`;
    const before = joined.get(key)?.trips ?? 0;
    const [persons, error] = apart ? [picture.persons?.[row] ?? null, picture.error?.[row] ?? null] : [null, null];
    joined.set(key, {origin, destination, trips: before + trips, persons, error});
  });
  return [...joined.values()].sort((one, two) => two.trips - one.trips);
}

function frame([west, south, east, north]: Picture['extent']): [number, number, number, number] {
  const reach = 20 * Math.max(east - west, north - south);
  return [Math.max(west - reach, -180), Math.max(south - reach, -85), Math.min(east + reach, 180), Math.min(north + reach, 85)];
}

function graticule([west, south, east, north]: Picture['extent']): Position[][] {
  const span = Math.max(east - west, north - south);
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20].find((size) => span / size <= 10) ?? 30;
  const reach = span * 1.5;
  const lines: Position[][] = [];
  const [left, right] = [Math.max(west - reach, -180), Math.min(east + reach, 180)];
  const [bottom, top] = [Math.max(south - reach, -85), Math.min(north + reach, 85)];
  for (let lon = Math.ceil(left / step) * step; lon <= right; lon += step) lines.push([[lon, bottom], [lon, top]]);
  for (let lat = Math.ceil(bottom / step) * step; lat <= top; lat += step) lines.push([[left, lat], [right, lat]]);
  return lines;
}

/** Land runs clockwise, lakes and inland seas the other way round. */
function isHole(ring: Position[]): boolean {
  let twice = 0;
  ring.forEach(([x, y], place) => {
    const [nextX, nextY] = ring[(place + 1) % ring.length] ?? [x, y];
    twice += x * nextY - nextX * y;
  });
  return twice > 0;
}
