// The map as it was drawn last, moved and stretched while the map moves: to draw thousands of lines anew in every frame would be slow.

import type {Sheet} from './sheet';

const ENOUGH = 0.6; // share of the sheet that it must cover to stand for it

export class Still {
  private readonly canvas = document.createElement('canvas');
  private taken: {x: number; y: number; scale: number; width: number; height: number; ratio: number} | null = null;

  // Keeps what the sheet shows now.
  take(sheet: Sheet): void {
    const {x, y, scale, width, height, ratio} = sheet;
    this.taken = {x, y, scale, width, height, ratio};
    this.canvas.width = sheet.canvas.width;
    this.canvas.height = sheet.canvas.height;
    this.canvas.getContext('2d')!.drawImage(sheet.canvas, 0, 0);
  }

  // Whether the sheet is where it was, and as large.
  exact(sheet: Sheet): boolean {
    const {taken} = this;
    return taken !== null && sheet.x === taken.x && sheet.y === taken.y && sheet.scale === taken.scale && this.alike(sheet);
  }

  private alike({width, height, ratio}: Sheet): boolean {
    return this.taken !== null && width === this.taken.width && height === this.taken.height && ratio === this.taken.ratio;
  }

  // Whether it covers enough of the sheet to be shown in its place.
  covers(sheet: Sheet): boolean {
    if (!this.alike(sheet)) return false;
    const [x, y, width, height] = this.placed(sheet),
      across = Math.min(sheet.width, x + width) - Math.max(0, x),
      down = Math.min(sheet.height, y + height) - Math.max(0, y);
    return across > 0 && down > 0 && across * down >= ENOUGH * sheet.width * sheet.height;
  }

  // Where it is on the sheet now: x, y, width, height. Whole dots of the screen, unless it is stretched: that is quick, and sharp.
  private placed(sheet: Sheet): [number, number, number, number] {
    const {x, y, scale, width, height, ratio} = this.taken!,
      factor = sheet.scale / scale,
      left = (width / 2) * (1 - factor) + (x - sheet.x) * sheet.scale,
      top = (height / 2) * (1 - factor) - (y - sheet.y) * sheet.scale;
    if (factor !== 1) return [left, top, width * factor, height * factor];
    return [Math.round(left * ratio) / ratio, Math.round(top * ratio) / ratio, this.canvas.width / ratio, this.canvas.height / ratio];
  }

  draw(sheet: Sheet): void {
    sheet.context.drawImage(this.canvas, ...this.placed(sheet));
  }
}
