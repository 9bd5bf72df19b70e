CREATE TABLE `authors` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`born` integer,
	`tags` text DEFAULT '[]' NOT NULL,
	`alive` integer DEFAULT true NOT NULL,
	`portrait` blob
);
--> statement-breakpoint
CREATE UNIQUE INDEX `authors_name_unique` ON `authors` (`name`);--> statement-breakpoint
CREATE TABLE `books` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`title` text NOT NULL,
	`author_id` integer NOT NULL,
	`copies` integer DEFAULT 1 NOT NULL,
	`price` real,
	FOREIGN KEY (`author_id`) REFERENCES `authors`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "copies_check" CHECK("books"."copies" >= 0)
);
--> statement-breakpoint
CREATE INDEX `books_author` ON `books` (`author_id`);
